package trainer

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/companion"
	"github.com/psbench/psbench/internal/host/data"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
)

// isolable lists the kinds of parts that can run in a companion of their trainer.
var isolable = []sdk.Kind{sdk.KindHook, sdk.KindCriterion, sdk.KindModel}

// toyWorld is a connected trainer with its data process and companions, all in the test's process.
type toyWorld struct {
	trainer    *Role
	data       *data.Role
	companions map[sdk.Kind]*process.Process
	hook       *companion.HookRole // nil unless the hook is in a companion
	reply      *Joined
}

func newToyWorld(t *testing.T, transport string, settings string, isolated ...sdk.Kind) *toyWorld {
	t.Helper()
	return newWorld(t, "toy", transport, settings, isolated...)
}

// newWorld makes a world of the toy parts with this key.
func newWorld(t *testing.T, key string, transport string, settings string, isolated ...sdk.Kind) *toyWorld {
	t.Helper()
	return newWorldOn(t, nil, key, transport, settings, isolated...)
}

// newWorldOn is like newWorld but uses the data on, unless that is nil.
func newWorldOn(t *testing.T, on sdk.Data, key string, transport string, settings string,
	isolated ...sdk.Kind) *toyWorld {
	t.Helper()
	parts := hosttest.ToyParts
	if on != nil {
		parts = append([]sdk.Part{sdk.NewData(key, struct{}{}, func(struct{}, sdk.DataEnv) (sdk.Data, error) {
			return on, nil
		})}, hosttest.ToyParts...)
	}
	return newWorldOf(t, parts, key, transport, settings, isolated...)
}

// newWorldOf makes a world of the parts with this key. newWorldOf uses the first such part of each
// kind.
func newWorldOf(t *testing.T, parts []sdk.Part, key string, transport string, settings string,
	isolated ...sdk.Kind) *toyWorld {
	t.Helper()
	dir := hosttest.Folder(t)
	choose := func(kind sdk.Kind) process.Choice {
		c := hosttest.Choice(kind, key)
		if slices.Contains(isolable, kind) {
			c.Settings = []byte(settings)
		}
		return c
	}
	enter := func(name string, kind sdk.Kind) *process.Process {
		return hosttest.Process(t, dir, parts,
			process.Config{Name: name, Part: choose(kind), Transport: transport, Listen: "127.0.0.1"})
	}
	data, err := newData(enter("data", sdk.KindData))
	hosttest.Must(t, err)
	w := &toyWorld{data: data, companions: map[sdk.Kind]*process.Process{}}
	peers := Peers{Source: batches.Source{Data: hosttest.PeerOf(data.Process)}, Companions: map[sdk.Kind]process.Peer{}}
	var trainer process.Peer
	joins := []func() error{func() error { _, err := data.Connect([]process.Peer{trainer}); return err }}
	for _, kind := range isolated {
		p := enter("trainer0."+string(kind), kind)
		w.companions[kind] = p
		peers.Companions[kind] = hosttest.PeerOf(p)
		switch kind {
		case sdk.KindHook:
			w.hook = companion.NewHook(p, sdk.HookEnv{Trainers: 1, Seed: 3})
			joins = append(joins, func() error {
				_, err := w.hook.Connect(companion.HookPeers{Trainer: trainer, Buckets: peers.Buckets})
				return err
			})
		case sdk.KindCriterion:
			criterion := companion.NewCriterion(p, sdk.CriterionEnv{MaxBatch: 2})
			joins = append(joins, func() error { _, err := criterion.Connect(trainer); return err })
		case sdk.KindModel:
			model, err := companion.NewModel(p, sdk.ModelEnv{MaxBatch: 2})
			hosttest.Must(t, err)
			peers.Model = *model.DescribeModel()
			joins = append(joins, func() error { _, err := model.Connect(trainer, peers.Buckets); return err })
		}
	}
	c := Config{Trainers: 1, Seed: 3, Summarize: true, Model: sdk.ModelEnv{MaxBatch: 2}}
	for _, kind := range isolable {
		if !slices.Contains(isolated, kind) {
			c.Local = append(c.Local, choose(kind))
		}
	}
	// The trainer is created last, so that it closes first: closing its links ends the other
	// processes.
	w.trainer, err = New(enter("trainer0", sdk.KindTrainer), c)
	hosttest.Must(t, err)
	if m := w.trainer.DescribeModel(); m != nil {
		peers.Model = *m
	}
	trainer = hosttest.PeerOf(w.trainer.Process)
	plan, err := w.trainer.Plan(peers.Model, nil)
	hosttest.Must(t, err)
	peers.Buckets = plan.Buckets
	partition, err := data.Partition(partitionOf(plan.Inputs))
	hosttest.Must(t, err)
	peers.Source.Share, peers.Source.Streamed = partition.Shares[0], partition.Streamed
	joined := make(chan error, len(joins))
	for _, join := range joins {
		go func() { joined <- join() }()
	}
	w.reply, err = w.trainer.Connect(peers)
	hosttest.Must(t, err)
	for range joins {
		hosttest.Must(t, <-joined)
	}
	return w
}

func newData(p *process.Process) (*data.Role, error) {
	return data.New(p, sdk.DataEnv{Trainers: 1, BatchSize: 2})
}

// partitionOf requests batches of two samples for one trainer.
func partitionOf(in sdk.InputSpec) data.Request {
	return data.Request{Inputs: in, BatchSize: 2, Sets: [][]int{{0}}}
}

// reset begins a pass.
func (w *toyWorld) reset(t *testing.T) {
	t.Helper()
	hosttest.Must(t, w.data.Reset())
	if w.hook != nil {
		hosttest.Must(t, w.hook.Reset())
	}
	hosttest.Must(t, w.trainer.Reset())
}

// outcome is everything that a pass computes: losses, parameters and summaries.
type outcome struct {
	Losses  []float64
	Values  [][]float32
	Summary [][]float64
}

func (w *toyWorld) pass(t *testing.T) (o outcome) {
	t.Helper()
	w.reset(t)
	work, err := w.trainer.Train(t.Context(), stop.Length{})
	hosttest.Must(t, err)
	if work.StartNS <= 0 || work.EndNS < work.StartNS {
		t.Errorf("the pass lasted from %d to %d", work.StartNS, work.EndNS)
	}
	for _, v := range w.trainer.parts.Values {
		o.Values = append(o.Values, slices.Clone(v.Data))
	}
	hosttest.Must(t, w.trainer.Collect(func(r record.Piece) error {
		switch q := r.(type) {
		case record.Losses:
			o.Losses = append(o.Losses, q...)
		case *record.Summary:
			o.Summary = append(o.Summary, append([]float64{q.DeltaSum, q.DeltaSumSq}, q.Head...))
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
		for _, isolated := range [][]sdk.Kind{nil, {sdk.KindModel}, {sdk.KindCriterion}, {sdk.KindHook}, isolable} {
			w := newToyWorld(t, transport, "{}", isolated...)
			for range 2 { // the warm-up and the measured pass
				if d := cmp.Diff(want, w.pass(t)); d != "" {
					t.Errorf("%s, isolated %v: %s", transport, isolated, d)
				}
			}
			for _, kind := range isolated {
				if cost, ok := w.reply.BoundaryNS[kind]; !ok || cost <= 0 {
					t.Errorf("crossing to the %s costs %d ns", kind, cost)
				}
			}
			if len(w.reply.BoundaryNS) != len(isolated) {
				t.Errorf("isolated %v, measured %v", isolated, w.reply.BoundaryNS)
			}
		}
	}
}

// The hook's metrics are recorded in the hook's process, under the trainer's batch numbers.
func TestCompanionHookKnowsTheBatch(t *testing.T) {
	for _, transport := range hosttest.Transports {
		w := newToyWorld(t, transport, "{}", sdk.KindHook)
		w.pass(t)
		var keys []string
		w.companions[sdk.KindHook].Recorder.Series("hook", "toy").Each(func(m sdk.Measurement) {
			keys = append(keys, m.Key.String())
		})
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
		}{"forward": {sdk.KindModel, "Forward"}, "backward": {sdk.KindModel, "Backward"},
			"loss": {sdk.KindCriterion, "Forward"}, "gradient": {sdk.KindCriterion, "Backward"}} {
			beside := newToyWorld(t, transport, `{"fail": "`+call+`"}`, c.kind)
			within := newToyWorld(t, transport, `{"fail": "`+call+`"}`)
			title := string(c.kind) + " toy, " + c.method + ": the toy is broken"
			for want, w := range map[string]*toyWorld{
				"trainer0, epoch 0, batch 0: trainer0." + string(c.kind) + ": " + title: beside,
				"trainer0, epoch 0, batch 0: " + title:                                  within,
			} {
				w.reset(t)
				if _, err := w.trainer.Train(t.Context(), stop.Length{}); err == nil || err.Error() != want {
					t.Errorf("%s: a %s that fails gave %v", transport, call, err)
				}
			}
		}
		hookFails(t, transport)
	}
}

// hookFails makes a hook fail in its companion.
func hookFails(t *testing.T, transport string) {
	t.Helper()
	w := newToyWorld(t, transport, `{"fail": "reduce"}`, sdk.KindHook)
	w.reset(t)
	ended := make(chan error, 1)
	go func() {
		_, err := w.trainer.Train(t.Context(), stop.Length{})
		ended <- err
	}()
	failure := <-w.companions[sdk.KindHook].Events.Failures
	if got := failure.Error(); got != "trainer0.hook: hook toy, Reduce: the toy is broken" {
		t.Errorf("%s: a hook that fails in its companion told %q", transport, got)
	}
	w.companions[sdk.KindHook].Close() // as happens at the end of the run
	if err := <-ended; err == nil {
		t.Errorf("%s: the trainer's pass has no error", transport)
	}
	w = newToyWorld(t, transport, `{"fail": "reduce"}`)
	w.reset(t)
	if _, err := w.trainer.Train(t.Context(), stop.Length{}); err == nil ||
		err.Error() != "trainer0, epoch 0, batch 0: hook toy, Reduce: the toy is broken" {
		t.Errorf("%s: a hook that fails gave %v", transport, err)
	}
}
