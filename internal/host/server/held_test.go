package server

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// holding is a server that holds a weight of two values, which each push changes. holding answers
// every push at once, or never.
type holding struct {
	silent bool
	weight []float32
}

func (s *holding) Reset() { copy(s.weight, []float32{1, 2}) }
func (s *holding) Receive(p sdk.Push) error {
	if s.silent {
		return nil
	}
	s.weight[0] += 3
	return p.Answer(p.Gradient)
}

func (s *holding) Held() ([]sdk.ParameterSpec, []tensor.Tensor) {
	return []sdk.ParameterSpec{{Name: "weight", Shape: []int{2}}}, []tensor.Tensor{{Shape: []int{2}, Data: s.weight}}
}

// A server's parameters are summarized if the run asks for it, unless a push of a failed pass is
// unanswered.
func TestHeldParametersAreSummarized(t *testing.T) {
	for _, c := range []struct {
		asked, silent bool
		want          int
	}{{true, false, 1}, {false, false, 0}, {true, true, 0}} {
		t.Run(fmt.Sprint(c.want), func(t *testing.T) {
			server := &holding{silent: c.silent, weight: make([]float32, 2)}
			role, links, stores := openServer(t, "unix", whole(server), []tensor.BucketSpec{{Elements: 2}}, 1,
				hosttest.Patience)
			role.config.Summarize = c.asked
			hosttest.Must(t, role.Reset())
			pushed := links[0].PushPull(0, stores[0].Buckets[0])
			if c.silent {
				hosttest.Await(t, func() bool { return !role.idle() })
			} else {
				hosttest.Must(t, pushed.Wait())
			}
			got := hosttest.SummariesOf(t, role)
			if len(got) != c.want {
				t.Fatalf("asked %v, silent %v: %d summaries", c.asked, c.silent, len(got))
			}
			if c.want == 1 &&
				(got[0].Name != "weight" || got[0].DeltaSum != 3 || !slices.Equal(got[0].Head, []float64{4, 2})) {
				t.Errorf("the summary is %v", got[0])
			}
		})
	}
}

// A server of parameters gets the run's model and seed.
func TestServerKnowsItsRun(t *testing.T) {
	var env sdk.ServerEnv
	parts := append(slices.Clone(hosttest.ToyParts),
		sdk.NewServer("knowing", struct{}{}, func(_ struct{}, e sdk.ServerEnv) (sdk.Server, error) {
			env = e
			return nil, hosttest.ErrToy
		}))
	model := hosttest.Choice("model", "features")
	r := New(hosttest.Process(t, hosttest.Folder(t), parts, process.Config{
		Name: "server3", Rank: 3, Part: hosttest.Choice("server", "knowing"),
	}), Config{Seed: 9, Model: &model, ModelEnv: sdk.ModelEnv{MaxBatch: 4}})
	_, err := r.Connect(Peers{Trainers: []process.Peer{{}, {}}})
	if !errors.Is(err, hosttest.ErrToy) {
		t.Fatal(err)
	}
	if model, ok := env.Model.(*hosttest.FeatureModel); !ok || model.G != nil {
		t.Errorf("its model is %+v", env.Model)
	}
	if env.Name != "server3" || env.Rank != 3 || env.Seed != 9 || env.Trainers != 2 {
		t.Errorf("it knows %+v", env)
	}
	r.config.Model = nil
	_, _ = r.Connect(Peers{})
	if env.Model != nil {
		t.Errorf("without a choice its model is %+v", env.Model)
	}
}
