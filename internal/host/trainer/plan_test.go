package trainer

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// planning is a trainer that looks up rows in tables.
type planning struct{ hosttest.FeatureTrainer }

func (*planning) PlanInputs(model sdk.InputSpec, tables []comm.TableSpec) (sdk.InputSpec, error) {
	if tables[0].Width%model.Features != 0 {
		return sdk.InputSpec{}, hosttest.ErrToy
	}
	return sdk.InputSpec{Rows: tables[0].Rows, Classes: model.Classes, Targets: tables[0].Width / model.Features}, nil
}

func TestTrainerPlansItsInputs(t *testing.T) {
	var env sdk.TrainerEnv
	parts := append(slices.Clone(hosttest.ToyParts),
		sdk.NewTrainer("planning", struct{}{}, func(_ struct{}, e sdk.TrainerEnv) (sdk.Trainer, error) {
			env = e
			return &planning{}, nil
		}))
	wide := []comm.TableSpec{{Rows: 300, Width: 6}}
	for _, c := range []struct {
		key    string
		tables []comm.TableSpec
		want   sdk.InputSpec
		err    string
	}{
		{"features", nil, sdk.InputSpec{Features: 3, Classes: 2, Targets: 1}, ""},
		{"planning", wide, sdk.InputSpec{Rows: 300, Classes: 2, Targets: 2}, ""},
		{"planning", []comm.TableSpec{{Rows: 300, Width: 7}}, sdk.InputSpec{},
			"trainer planning, PlanInputs: the toy is broken"},
		{"planning", nil, sdk.InputSpec{},
			"trainer planning looks up tables, but the run has no servers that hold any"},
		{"features", wide, sdk.InputSpec{},
			"trainer features does not look anything up, but the run's servers hold 1 tables"},
	} {
		t.Run(c.key, func(t *testing.T) {
			p := hosttest.Process(t, hosttest.Folder(t), parts, process.Config{
				Name: "trainer0", Part: hosttest.Choice("trainer", c.key),
			})
			r, err := New(p, Config{
				Server: "embedding", Model: sdk.ModelEnv{FirstTensor: 2},
				Local: []process.Choice{hosttest.Choice("model", "features")},
			})
			hosttest.Must(t, err)
			if first := r.model.(hosted.FeatureModel).Model.(*hosttest.FeatureModel).First; first != 2 {
				t.Errorf("the model's parameters start at number %d", first)
			}
			if c.key == "planning" && env.Server != "embedding" {
				t.Errorf("the trainer's server is %q", env.Server)
			}
			plan, err := r.Plan(*r.DescribeModel(), c.tables)
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("%s with %v: %v, want %q", c.key, c.tables, err, c.err)
				}
				return
			}
			hosttest.Must(t, err)
			if !cmp.Equal(c.want, plan.Inputs) || len(plan.Buckets) != 1 {
				t.Errorf("%s: %d buckets and inputs %v, want 1 and %v", c.key, len(plan.Buckets), plan.Inputs, c.want)
			}
		})
	}
}
