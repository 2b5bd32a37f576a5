//go:build nvidia

// Package models provides psbench's models on a CUDA device. Keys, settings, parameters and initial values are the
// same as on the host. Forward and Backward launch kernels on the compute stream and return. The gradients that
// Backward emits are complete once the stream has done that work. Forward and Backward wait only for an unfinished
// copy of a batch. Callers that need a result wait for it, as the criterion does for the loss.
package models

import (
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/plugins/models"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Parts lists the models.
func Parts() []sdk.Part {
	return []sdk.Part{
		sdk.NewModel("dlrm", models.DefaultDLRM, NewDLRM),
		sdk.NewModel("dummy", models.DefaultDummy, NewDummy),
		sdk.NewModel("mlp", models.DefaultMLP, NewMLP),
	}
}

// base is the common part of the models.
type base struct {
	dev       *device.Device
	lane      *device.Lane // lane of the compute stream
	values    []tensor.Tensor
	gradients []*tensor.Gradient
	failed    error // error of Initialize, returned by the next Forward
}

// newBase checks that the settings leave the choice of the library for matrix products to the device.
func newBase(env sdk.ModelEnv, products string) (base, error) {
	d, err := device.Of(env.Engine)
	if err != nil {
		return base{}, err
	}
	if products != blas.Auto {
		return base{},
			fmt.Errorf("setting blas is %s but must be %s: on %s matrices are multiplied by cuBLAS, or by psbench's own kernels where that is missing",
				quote.String(products), blas.Auto, d.Name())
	}
	if err := d.Products(); err != nil {
		return base{}, err
	}
	d.Measure(env.Recorder)
	return base{dev: d, lane: d.Compute()}, nil
}

func (b *base) bind(specs []sdk.ParameterSpec, values []tensor.Tensor, gradients []*tensor.Gradient) error {
	if err := models.CheckBinding(specs, values, gradients); err != nil {
		return err
	}
	b.values, b.gradients = values, gradients
	return nil
}

// initialize calls draw for the initial values of each parameter and copies them to the device.
func (b *base) initialize(draw func(parameter int, values []float32)) {
	most := 0
	for _, v := range b.values {
		most = max(most, len(v.Data))
	}
	host := make([]float32, most)
	if b.failed = b.dev.BeginPass(); b.failed != nil {
		return
	}
	for k, v := range b.values {
		draw(k, host[:len(v.Data)])
		if err := engine.In(b.dev, v.Data, host[:len(v.Data)]); err != nil {
			b.failed = fmt.Errorf("initial values of parameter %d: %w", k, err)
			return
		}
	}
}

// PassFacts implements sdk.PassDescriber. PassFacts returns no facts. The host calls it at the end of a pass, so it
// records the last measurements. PassFacts ignores errors of the device, because the pass has already reported
// them.
func (b *base) PassFacts() map[string]string {
	_ = b.dev.EndPass()
	return nil
}

// begin starts the Forward of a batch, or returns an error if the batch is invalid.
func (b *base) begin(model string, batch *sdk.Batch) error {
	b.lane = b.dev.Compute()
	switch {
	case b.values == nil:
		return fmt.Errorf("the %s model cannot compute before its parameters are bound", model)
	case b.failed != nil:
		return b.failed
	case batch.Size() < 1:
		return fmt.Errorf("a batch has %d samples but must have at least 1", batch.Size())
	}
	b.dev.Begin(device.Forward)
	return nil
}

// beginBack starts Backward, or returns an error if the output's gradient is invalid.
func (b *base) beginBack(model string, forward bool, gradient, output tensor.Tensor) error {
	b.lane = b.dev.Compute()
	if !forward {
		return fmt.Errorf("the %s model cannot go backward before it went forward", model)
	}
	if err := models.CheckOutputGradient(gradient, output); err != nil {
		return err
	}
	b.dev.Begin(device.Backward)
	return nil
}

// end ends a phase and returns any error of its launches.
func (b *base) end(p device.Phase) error {
	b.dev.End(p)
	return b.lane.Queue.Err()
}

// checkFeatures returns an error unless a batch has so many numbers for each sample.
func checkFeatures(b *sdk.Batch, features int) error {
	if len(b.Features) != b.Size()*features {
		return fmt.Errorf("a batch of %d samples has %d numbers but the model takes %d for each", b.Size(),
			len(b.Features), features)
	}
	return nil
}

// checkInputGradient returns an error if the memory for the features' gradient has the wrong size.
func checkInputGradient(room []float32, rows, features int) error {
	if rows > 0 && len(room) != rows*features {
		return fmt.Errorf("the input's gradient has room for %d values, but %d samples need %d each", len(room),
			rows, features)
	}
	return nil
}
