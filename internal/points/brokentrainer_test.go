//go:build !race

package points

import (
	"context"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// stepping trains by a step against the gradient. stepping uses the servers that its field needs names.
type stepping struct {
	sound
	needs sdk.Service
	env   sdk.TrainerEnv
	parts sdk.TrainerParts
	reset bool
}

func (t *stepping) Plan(p []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	plan := dataparallel.BucketSettings{BucketBytes: 4}.PlanBuckets(p) // one bucket for each parameter
	if t.has("a plan of each rank's own") && t.env.Rank > 0 {
		plan[0].Parameters[0].Elements--
	}
	return plan, nil
}

// lookingUp is a stepping trainer with tables.
type lookingUp struct{ stepping }

func (t *lookingUp) PlanInputs(model sdk.InputSpec, tables []comm.TableSpec) (sdk.InputSpec, error) {
	return sdk.InputSpec{Rows: tables[0].Rows, Classes: model.Classes, Targets: len(tables)}, nil
}

func (t *stepping) Attach(parts sdk.TrainerParts) error { t.parts = parts; return nil }

func (t *stepping) Reset() error {
	if !t.reset || !t.has("parameters that are not reset") {
		t.parts.Model.Initialize(t.env.Seed)
	}
	t.reset = true
	return nil
}

func (t *stepping) Train(ctx context.Context, report sdk.PassReport) error {
	batch := int64(0)
	if t.needs == sdk.ServiceParameters {
		if err := t.reduce(batch); err != nil {
			return err
		}
		t.take()
	}
	for epoch := range t.env.Epochs {
		if t.has("a context that is not looked at") {
			ctx = context.Background()
		}
		err := dataparallel.RunEpoch(ctx, t.env.Name, epoch, t.parts, report,
			func(_ sdk.Key, b *sdk.Batch) (float64, error) {
				batch++
				return t.step(batch, b)
			})
		if err != nil || t.has("one epoch of two") {
			return err
		}
	}
	return nil
}

func (t *stepping) step(batch int64, b *sdk.Batch) (float64, error) {
	if t.needs == sdk.ServiceTables {
		if err := t.parts.Tables.Store.Ask(b.Offsets, b.Indices); err != nil {
			return 0, err
		}
		if err := t.eachTable(func(link comm.TableLink) *comm.Future { return link.Lookup(batch) }); err != nil {
			return 0, err
		}
		b = &sdk.Batch{Features: t.parts.Tables.Store.Values[:b.Size()*t.parts.Tables.Store.Columns()],
			Targets: b.Targets}
	}
	out, err := t.parts.Model.Forward(b)
	if err != nil {
		return 0, err
	}
	up := tensor.New(out.Shape...)
	if t.has("a gradient of the loss before") {
		if err := t.parts.Criterion.Backward(up); err != nil {
			return 0, err
		}
	}
	loss, err := t.parts.Criterion.Forward(out, b.Targets)
	if err != nil {
		return 0, err
	}
	if err := t.parts.Criterion.Backward(up); err != nil {
		return 0, err
	}
	if t.needs == sdk.ServiceTables {
		if err := t.parts.Model.(sdk.FeatureModel).BackwardInput(up, t.parts.Tables.Store.Gradients[:len(b.Features)],
			func(int) {}); err != nil {
			return 0, err
		}
		if err := t.eachTable(func(link comm.TableLink) *comm.Future { return link.Update(batch) }); err != nil {
			return 0, err
		}
	} else if err := t.backward(batch, up); err != nil {
		return 0, err
	}
	if !t.has("gradients that are not reduced") {
		if err := t.reduce(batch); err != nil {
			return 0, err
		}
	}
	if t.needs == sdk.ServiceParameters {
		t.take()
		return loss, nil
	}
	for k, v := range t.parts.Values {
		for i, d := range t.parts.Gradients[k].Values {
			v.Data[i] -= d / 8
		}
	}
	return loss, nil
}

// backward computes gradients while other buckets may be in flight.
func (t *stepping) backward(batch int64, up tensor.Tensor) error {
	if t.has("gradients that are overwritten while they are reduced") {
		if err := t.parts.Model.Backward(up, func(int) {}); err != nil {
			return err
		}
		t.parts.Hook.Reduce(batchState(-batch), t.parts.Buckets[0])
		_, _ = t.parts.Model.Forward(&sdk.Batch{Features: make([]float32, len(up.Data)/2*3),
			Targets: make([]int64, len(up.Data)/2)})
	}
	reduce := func(int) {}
	if t.has("buckets from the last to the first") {
		left := len(t.parts.Values)
		reduce = func(int) {
			if left--; left == 0 {
				for _, b := range []int{1, 0} {
					_ = t.parts.Hook.Reduce(batchState(-batch), t.parts.Buckets[b]).Wait()
				}
			}
		}
	}
	return t.parts.Model.Backward(up, reduce)
}

// reduce reduces all buckets.
func (t *stepping) reduce(batch int64) error {
	for _, b := range t.parts.Buckets {
		if err := t.parts.Hook.Reduce(batchState(batch), b).Wait(); err != nil {
			return err
		}
	}
	return nil
}

// take copies the answer of a server of parameters.
func (t *stepping) take() {
	for k, v := range t.parts.Values {
		copy(v.Data, t.parts.Gradients[k].Values)
	}
}

func (t *stepping) eachTable(call func(comm.TableLink) *comm.Future) error {
	for _, link := range t.parts.Tables.Links {
		if err := call(link).Wait(); err != nil {
			return err
		}
	}
	return nil
}
