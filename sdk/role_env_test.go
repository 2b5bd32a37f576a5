package sdk

import (
	"errors"
	"slices"
	"testing"

	gproto "google.golang.org/protobuf/proto"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/proto"
)

// holding is a server that answers every push at once or never, and holds a weight of
// two values, which each push changes.
type holding struct {
	silent bool
	weight []float32
}

func (s *holding) Wake() Wake { return EachArrival }
func (s *holding) Reset()     { copy(s.weight, []float32{1, 2}) }
func (s *holding) Receive(pushes []*Push) error {
	if s.silent {
		return nil
	}
	s.weight[0] += 3
	return pushes[0].Answer(pushes[0].Gradient)
}

func (s *holding) Held() ([]ParameterSpec, []tensor.Tensor) {
	return []ParameterSpec{{Name: "weight", Shape: []int{2}}}, []tensor.Tensor{{Shape: []int{2}, Data: s.weight}}
}

// summariesOf are what a role tells of its parameters.
func summariesOf(t *testing.T, r role) (out []*proto.ParameterSummary) {
	t.Helper()
	must(t, r.collect(func(reply *proto.CollectReply) error {
		out = append(out, reply.GetParameters()...)
		return nil
	}))
	return out
}

// What a server holds is summarized where the run asks for it, unless a push of a
// pass that failed is unanswered.
func TestHeldParametersAreSummarized(t *testing.T) {
	for _, c := range []struct {
		asked, silent bool
		want          int
	}{{true, false, 1}, {false, false, 0}, {true, true, 0}} {
		server := &holding{silent: c.silent, weight: make([]float32, 2)}
		role, links, stores := openServer(t, comm.Unix, server, []tensor.BucketSpec{{Elements: 2}}, 1, patience)
		role.req.Summarize = c.asked
		must(t, role.reset())
		pushed := links[0].PushPull(0, stores[0].Buckets[0])
		if c.silent {
			await(t, func() bool { return !role.idle() })
		} else {
			must(t, pushed.Wait())
		}
		got := summariesOf(t, role)
		if len(got) != c.want {
			t.Fatalf("asked %v, silent %v: %d summaries", c.asked, c.silent, len(got))
		}
		if c.want == 1 && (got[0].GetName() != "weight" || got[0].GetDeltaSum() != 3 || !slices.Equal(got[0].GetHead(), []float64{4, 2})) {
			t.Errorf("the summary is %v", got[0])
		}
	}
}

// A server of parameters knows the run's model, its seed and its trainers' batches.
func TestServerKnowsItsRun(t *testing.T) {
	var env ServerEnv
	parts := append(slices.Clone(toyParts), NewServer("knowing", struct{}{}, func(_ struct{}, e ServerEnv) (Server, error) {
		env = e
		return nil, errToy
	}))
	req := &proto.ConfigureRequest{
		Name: "server3", Rank: 3, Seed: 9, Part: &proto.PartChoice{Kind: "server", Key: "knowing"},
		Local: []*proto.PartChoice{{Kind: "model", Key: "features"}}, BatchSize: 4,
	}
	r, err := newRole(stationOf(t, folder(t), parts, req))
	must(t, err)
	_, err = r.connect(&proto.ConnectRequest{Trainers: []*proto.Peer{{}, {}}, Batches: []int64{5, 6}})
	if !errors.Is(err, errToy) {
		t.Fatal(err)
	}
	if model, ok := env.Model.(*featureModel); !ok || model.g != nil {
		t.Errorf("its model is %+v", env.Model)
	}
	if env.Name != "server3" || env.Rank != 3 || env.Seed != 9 || env.Trainers != 2 || !slices.Equal(env.Batches, []int{5, 6}) {
		t.Errorf("it knows %+v", env)
	}
	req.Local = nil
	_, _ = r.connect(&proto.ConnectRequest{})
	if env.Model != nil {
		t.Errorf("without a choice its model is %+v", env.Model)
	}
}

// planning is a trainer that looks tables up.
type planning struct{ featureTrainer }

func (*planning) PlanInputs(model InputSpec, tables []comm.TableSpec) (InputSpec, error) {
	if tables[0].Width%model.Features != 0 {
		return InputSpec{}, errToy
	}
	return InputSpec{Rows: tables[0].Rows, Classes: model.Classes, Targets: tables[0].Width / model.Features}, nil
}

func TestTrainerPlansItsInputs(t *testing.T) {
	var env TrainerEnv
	parts := append(slices.Clone(toyParts), NewTrainer("planning", struct{}{}, func(_ struct{}, e TrainerEnv) (Trainer, error) {
		env = e
		return &planning{}, nil
	}))
	wide := []*proto.Table{{Rows: 300, Width: 6}}
	for _, c := range []struct {
		key    string
		tables []*proto.Table
		want   *proto.Inputs
		err    string
	}{
		{"features", nil, &proto.Inputs{Features: 3, Classes: 2, Targets: 1}, ""},
		{"planning", wide, &proto.Inputs{Rows: 300, Classes: 2, Targets: 2}, ""},
		{"planning", []*proto.Table{{Rows: 300, Width: 7}}, nil, "trainer planning, PlanInputs: the toy is broken"},
		{"planning", nil, nil, "trainer planning looks up tables, but the run has no servers that hold any"},
		{"features", wide, nil, "trainer features does not look anything up, but the run's servers hold 1 tables"},
	} {
		st := stationOf(t, folder(t), parts, &proto.ConfigureRequest{
			Name: "trainer0", Part: &proto.PartChoice{Kind: "trainer", Key: c.key}, Server: "embedding", FirstTensor: 2,
			Local: []*proto.PartChoice{{Kind: "model", Key: "features"}},
		})
		r, err := newTrainerRole(st)
		must(t, err)
		if first := r.model.(hostedFeatureModel).Model.(*featureModel).first; first != 2 {
			t.Errorf("the model's parameters start at number %d", first)
		}
		if c.key == "planning" && env.Server != "embedding" {
			t.Errorf("the trainer's server is %q", env.Server)
		}
		reply, err := r.plan(&proto.PlanRequest{Model: r.describeModel(), Tables: c.tables})
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s with %v: %v, want %q", c.key, c.tables, err, c.err)
			}
			continue
		}
		must(t, err)
		if !gproto.Equal(c.want, reply.GetInputs()) || len(reply.GetBuckets()) != 1 {
			t.Errorf("%s: %d buckets and inputs %v, want 1 and %v", c.key, len(reply.GetBuckets()), reply.GetInputs(), c.want)
		}
	}
}

// A model in a companion starts at the same number as one in its trainer.
func TestCompanionModelKnowsItsFirstTensor(t *testing.T) {
	r, err := newRole(stationOf(t, folder(t), toyParts, &proto.ConfigureRequest{
		Name: "trainer0.model", Part: &proto.PartChoice{Kind: "model", Key: "features"}, FirstTensor: 5,
	}))
	must(t, err)
	role := r.(*modelRole)
	if first := role.model.(hostedFeatureModel).Model.(*featureModel).first; first != 5 || !role.describeModel().GetFeatureGradient() {
		t.Errorf("it starts at number %d and describes %v", first, role.describeModel())
	}
}
