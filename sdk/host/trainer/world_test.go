package trainer

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/companion"
	"github.com/psbench/psbench/sdk/host/data"
	"github.com/psbench/psbench/sdk/host/internal/hosttest"
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/proto"
)

// toyWorld is a connected trainer with its data process and companions, all in
// this process.
type toyWorld struct {
	trainer    *Role
	companions map[sdk.Kind]*process.Process
	reply      *proto.ConnectReply
}

// connector is a role as far as it joins links.
type connector interface {
	Connect(*proto.ConnectRequest) (*proto.ConnectReply, error)
}

func newToyWorld(t *testing.T, transport string, settings string, isolated ...sdk.Kind) *toyWorld {
	t.Helper()
	return newWorld(t, "toy", transport, settings, isolated...)
}

// newWorld makes a world of the toy parts that have a key.
func newWorld(t *testing.T, key string, transport string, settings string, isolated ...sdk.Kind) *toyWorld {
	t.Helper()
	return newWorldOn(t, nil, key, transport, settings, isolated...)
}

// newWorldOn is newWorld with data in the place of the toy's, unless that is nil.
func newWorldOn(t *testing.T, on sdk.Data, key string, transport string, settings string, isolated ...sdk.Kind) *toyWorld {
	t.Helper()
	parts := hosttest.ToyParts
	if on != nil {
		parts = append([]sdk.Part{sdk.NewData(key, struct{}{}, func(struct{}, sdk.DataEnv) (sdk.Data, error) { return on, nil })}, hosttest.ToyParts...)
	}
	return newWorldOf(t, parts, key, transport, settings, isolated...)
}

// newWorldOf makes a world of those of the parts that have a key, the first of each kind.
func newWorldOf(t *testing.T, parts []sdk.Part, key string, transport string, settings string, isolated ...sdk.Kind) *toyWorld {
	t.Helper()
	dir := hosttest.Folder(t)
	choose := func(kind sdk.Kind) *proto.PartChoice {
		c := &proto.PartChoice{Kind: string(kind), Key: key}
		if slices.Contains(sdk.Isolable, kind) {
			c.Settings = []byte(settings)
		}
		return c
	}
	enter := func(name string, kind sdk.Kind, local ...*proto.PartChoice) *process.Process {
		return hosttest.Process(t, dir, parts, &proto.ConfigureRequest{
			Name: name, Part: choose(kind), Local: local, BatchSize: 2, Summarize: true, Seed: 3, Transport: transport, Listen: "127.0.0.1",
		})
	}
	data, err := data.New(enter("data", sdk.KindData))
	hosttest.Must(t, err)
	w := &toyWorld{companions: map[sdk.Kind]*process.Process{}}
	req := &proto.ConnectRequest{Data: hosttest.PeerOf(data.Process), Companions: map[string]*proto.Peer{}}
	others := []connector{data}
	for _, kind := range isolated {
		st := enter("trainer0."+string(kind), kind)
		w.companions[kind] = st
		req.Companions[string(kind)] = hosttest.PeerOf(st)
		switch kind {
		case sdk.KindHook:
			others = append(others, companion.NewHook(st))
		case sdk.KindCriterion:
			others = append(others, companion.NewCriterion(st))
		case sdk.KindModel:
			m, err := companion.NewModel(st)
			hosttest.Must(t, err)
			req.Model = m.DescribeModel()
			others = append(others, m)
		}
	}
	var local []*proto.PartChoice
	for _, kind := range sdk.Isolable {
		if !slices.Contains(isolated, kind) {
			local = append(local, choose(kind))
		}
	}
	// The trainer is made last, so that it ends first: its links end the others.
	w.trainer, err = New(enter("trainer0", sdk.KindTrainer, local...))
	hosttest.Must(t, err)
	if m := w.trainer.DescribeModel(); m != nil {
		req.Model = m
	}
	req.Trainers = []*proto.Peer{hosttest.PeerOf(w.trainer.Process)}
	plan, err := w.trainer.Plan(&proto.PlanRequest{Model: req.GetModel()})
	hosttest.Must(t, err)
	req.Buckets = plan.GetBuckets()
	deal, err := data.Deal(&proto.DealRequest{Inputs: plan.GetInputs(), BatchSize: 2, Sets: []*proto.TrainerSet{{Trainers: []int32{0}}}})
	hosttest.Must(t, err)
	req.Share, req.Streamed = deal.GetShares()[0], deal.GetStreamed()
	joined := make(chan error, len(others))
	for _, r := range others {
		go func() {
			_, err := r.Connect(req)
			joined <- err
		}()
	}
	w.reply, err = w.trainer.Connect(req)
	hosttest.Must(t, err)
	for range others {
		hosttest.Must(t, <-joined)
	}
	return w
}

// outcome is all that a pass computes: losses, parameters and summaries.
type outcome struct {
	Losses  []float64
	Values  [][]float32
	Summary [][]float64
}

func (w *toyWorld) pass(t *testing.T) (o outcome) {
	t.Helper()
	hosttest.Must(t, w.trainer.Reset())
	reply, err := w.trainer.Train(t.Context(), math.MaxInt)
	hosttest.Must(t, err)
	if reply.GetWork().GetStartNs() <= 0 || reply.GetWork().GetEndNs() < reply.GetWork().GetStartNs() {
		t.Errorf("the pass lasted from %d to %d", reply.GetWork().GetStartNs(), reply.GetWork().GetEndNs())
	}
	for _, v := range w.trainer.parts.Values {
		o.Values = append(o.Values, slices.Clone(v.Data))
	}
	hosttest.Must(t, w.trainer.Collect(func(r *proto.CollectReply) error {
		o.Losses = append(o.Losses, r.GetLosses()...)
		for _, p := range r.GetParameters() {
			o.Summary = append(o.Summary, append([]float64{p.GetDeltaSum(), p.GetDeltaSumsq()}, p.GetHead()...))
		}
		return nil
	}))
	return o
}

func TestCompanionsComputeTheSameBits(t *testing.T) {
	want := newToyWorld(t, "unix", "{}").pass(t)
	if len(want.Losses) != 4 || want.Losses[0] == want.Losses[3] || len(want.Summary) != 2 || want.Summary[0][0] == 0 {
		t.Fatalf("the toy does not train: %+v", want)
	}
	for _, transport := range hosttest.Transports {
		for _, isolated := range [][]sdk.Kind{nil, {sdk.KindModel}, {sdk.KindCriterion}, {sdk.KindHook}, sdk.Isolable} {
			w := newToyWorld(t, transport, "{}", isolated...)
			for range 2 { // the warm-up and the measured pass
				if d := cmp.Diff(want, w.pass(t)); d != "" {
					t.Errorf("%s, isolated %v: %s", transport, isolated, d)
				}
			}
			for _, kind := range isolated {
				if cost, ok := w.reply.GetBoundaryNs()[string(kind)]; !ok || cost <= 0 {
					t.Errorf("crossing to the %s costs %d ns", kind, cost)
				}
			}
			if len(w.reply.GetBoundaryNs()) != len(isolated) {
				t.Errorf("isolated %v, measured %v", isolated, w.reply.GetBoundaryNs())
			}
		}
	}
}

// The hook's metrics are recorded where it runs, under the trainer's batches.
func TestCompanionHookKnowsTheBatch(t *testing.T) {
	for _, transport := range hosttest.Transports {
		w := newToyWorld(t, transport, "{}", sdk.KindHook)
		w.pass(t)
		var keys []string
		w.companions[sdk.KindHook].Recorder.Series("hook", "toy").Each(func(m sdk.Measurement) { keys = append(keys, m.Key.String()) })
		if d := cmp.Diff([]string{"0,0", "0,1", "1,0", "1,1", "2,0", "2,1", "3,0", "3,1"}, keys); d != "" {
			t.Errorf("%s: %s", transport, d)
		}
	}
}

func TestErrorsCrossAsSentences(t *testing.T) {
	for _, transport := range hosttest.Transports {
		for call, c := range map[string]struct {
			kind   sdk.Kind
			method string
		}{"forward": {sdk.KindModel, "Forward"}, "backward": {sdk.KindModel, "Backward"}, "loss": {sdk.KindCriterion, "Forward"}, "gradient": {sdk.KindCriterion, "Backward"}} {
			beside := newToyWorld(t, transport, `{"fail": "`+call+`"}`, c.kind)
			within := newToyWorld(t, transport, `{"fail": "`+call+`"}`)
			title := string(c.kind) + " toy, " + c.method + ": the toy is broken"
			for want, w := range map[string]*toyWorld{
				"trainer0, epoch 0, batch 0: trainer0." + string(c.kind) + ": " + title: beside,
				"trainer0, epoch 0, batch 0: " + title:                                  within,
			} {
				hosttest.Must(t, w.trainer.Reset())
				if _, err := w.trainer.Train(t.Context(), math.MaxInt); err == nil || err.Error() != want {
					t.Errorf("%s: a %s that fails gave %v", transport, call, err)
				}
			}
		}
		hookFails(t, transport)
	}
}

// hookFails has a hook fail in its companion.
func hookFails(t *testing.T, transport string) {
	t.Helper()
	w := newToyWorld(t, transport, `{"fail": "reduce"}`, sdk.KindHook)
	hosttest.Must(t, w.trainer.Reset())
	ended := make(chan error, 1)
	go func() {
		_, err := w.trainer.Train(t.Context(), math.MaxInt)
		ended <- err
	}()
	failure := <-w.companions[sdk.KindHook].Events.Failures
	if got := failure.GetFailure().GetMessage(); got != "trainer0.hook: hook toy, Reduce: the toy is broken" {
		t.Errorf("%s: a hook that fails in its companion told %q", transport, got)
	}
	w.companions[sdk.KindHook].Close() // as the end of the run does
	if err := <-ended; err == nil {
		t.Errorf("%s: the trainer's pass has no error", transport)
	}
	w = newToyWorld(t, transport, `{"fail": "reduce"}`)
	hosttest.Must(t, w.trainer.Reset())
	if _, err := w.trainer.Train(t.Context(), math.MaxInt); err == nil || err.Error() != "trainer0, epoch 0, batch 0: hook toy, Reduce: the toy is broken" {
		t.Errorf("%s: a hook that fails gave %v", transport, err)
	}
}
