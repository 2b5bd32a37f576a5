// Package trainertest gives tests of trainers the environment of a host, and compares results with the reference
// cases.
package trainertest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Parts plans, allocates and binds everything that the trainer needs for model.
func Parts(t testing.TB, trainer sdk.Trainer, model sdk.Model) sdk.TrainerParts {
	t.Helper()
	specs := model.Parameters()
	plan, err := trainer.Plan(specs)
	if err != nil {
		t.Fatal(err)
	}
	parts := sdk.TrainerParts{
		Engine: engine.Host, Model: model, Recorder: &sdk.Recorder{}, Buckets: comm.NewStore(plan).Buckets,
		Gradients: make([]*tensor.Gradient, len(specs)),
	}
	for _, p := range specs {
		parts.Values = append(parts.Values, tensor.New(p.Shape...))
	}
	for _, b := range parts.Buckets {
		for _, span := range b.Parameters {
			parts.Gradients[span.Parameter] = &tensor.Gradient{
				Values: b.Gradient.Values[span.Offset : span.Offset+span.Elements],
			}
		}
	}
	if err := model.Bind(parts.Values, parts.Gradients); err != nil {
		t.Fatal(err)
	}
	return parts
}

// Told records the reports of a pass.
type Told struct {
	Epochs []int
	Losses []float64
}

// Epoch implements sdk.PassReport.
func (t *Told) Epoch(epoch int) { t.Epochs = append(t.Epochs, epoch) }

// Loss implements sdk.PassReport.
func (t *Told) Loss(loss float64) { t.Losses = append(t.Losses, loss) }

// RequireCancelled requires that a cancelled pass of trainer returns the cause of its context.
func RequireCancelled(t testing.TB, trainer sdk.Trainer) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := trainer.Train(ctx, &Told{}); !errors.Is(err, why) {
		t.Errorf("a cancelled pass gives %v", err)
	}
}

// Series returns all measurements of a recorder by "type,name".
func Series(recorder *sdk.Recorder) map[string][]sdk.Measurement {
	all := map[string][]sdk.Measurement{}
	for _, s := range recorder.All().Series {
		all[s.Type+","+s.Name] = nil
		s.Each(func(m sdk.Measurement) { all[s.Type+","+s.Name] = append(all[s.Type+","+s.Name], m) })
	}
	return all
}

// RequireParts requires that the given series follow each other without gaps in each iteration and fill batch_all.
// Each iteration's data must come before.
func RequireParts(t testing.TB, series map[string][]sdk.Measurement, parts ...string) {
	t.Helper()
	whole, data := series["batch_level_metric,batch_all"], series["iteration_metric,data"]
	if len(data) != len(whole) {
		t.Fatalf("there are %d measurements of data, want %d", len(data), len(whole))
	}
	for i, w := range whole {
		if d := data[i]; d.Key != w.Key || d.DurationNS < 0 || d.StartNS+d.DurationNS > w.StartNS {
			t.Errorf("iteration %d: data %+v is not before %+v", i, d, w)
		}
		at := w.StartNS
		for _, part := range parts {
			if len(series[part]) != len(whole) {
				t.Fatalf("there are %d measurements of %s, want %d", len(series[part]), part, len(whole))
			}
			m := series[part][i]
			if m.Key != w.Key || m.StartNS != at || m.DurationNS < 0 {
				t.Errorf("iteration %d: %s is %+v, want it under %v from %d on", i, part, m, w.Key, at)
			}
			at = m.StartNS + m.DurationNS
		}
		if end := w.StartNS + w.DurationNS; at != end {
			t.Errorf("iteration %d: the parts end at %d, the iteration at %d", i, at, end)
		}
	}
}

// Read reads a reference case into c.
func Read(t testing.TB, name string, c any) {
	t.Helper()
	raw, err := os.ReadFile("../../../core/measure/verify/reference/" + name + ".json") // #nosec G304 -- the names are in the tests
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, c); err != nil {
		t.Fatal(err)
	}
}

// Tolerance is the largest allowed difference between a run and PyTorch's.
type Tolerance struct {
	Loss       float64 `json:"loss_rel"`
	DeltaHead  float64 `json:"delta_head_abs"`
	DeltaSumsq float64 `json:"delta_sumsq_rel"`
}

// Summary describes a tensor after PyTorch's training.
type Summary struct {
	DeltaSumsq float64   `json:"delta_sumsq"`
	DeltaHead  []float64 `json:"delta_head"`
	Head       []float64
}

// RequireLosses compares the losses of a trainer with PyTorch's.
func (tol Tolerance) RequireLosses(t testing.TB, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("there are %d losses, PyTorch has %d", len(got), len(want))
	}
	for step := range want {
		if math.Abs(got[step]-want[step]) > tol.Loss*math.Abs(want[step]) {
			t.Errorf("step %d: loss is %.9g, PyTorch has %.9g", step, got[step], want[step])
		}
	}
}

// RequireTensor compares a trained tensor with PyTorch's result.
func (tol Tolerance) RequireTensor(t testing.TB, name string, initial, final []float32, want Summary) {
	t.Helper()
	var sumsq float64
	for i, v := range final {
		delta := float64(v) - float64(initial[i])
		sumsq += delta * delta
		if i < len(want.Head) &&
			(math.Abs(delta-want.DeltaHead[i]) > tol.DeltaHead || math.Abs(float64(v)-want.Head[i]) > tol.DeltaHead) {
			t.Errorf("%s, element %d: moved by %g to %g, in PyTorch by %g to %g", name, i, delta, v, want.DeltaHead[i],
				want.Head[i])
		}
	}
	if math.Abs(sumsq-want.DeltaSumsq) > tol.DeltaSumsq*want.DeltaSumsq {
		t.Errorf("%s: the squares of its change add up to %g, in PyTorch to %g", name, sumsq, want.DeltaSumsq)
	}
}
