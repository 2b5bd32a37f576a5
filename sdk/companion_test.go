package sdk

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/proto"
)

// toyWorld is a connected trainer with its data process and companions, all in
// this process.
type toyWorld struct {
	trainer    *trainerRole
	companions map[Kind]role
	reply      *proto.ConnectReply
}

func newToyWorld(t *testing.T, transport comm.Transport, settings string, isolated ...Kind) *toyWorld {
	t.Helper()
	return newWorld(t, "toy", transport, settings, isolated...)
}

// newWorld makes a world of the toy parts that have a key.
func newWorld(t *testing.T, key string, transport comm.Transport, settings string, isolated ...Kind) *toyWorld {
	t.Helper()
	return newWorldOn(t, nil, key, transport, settings, isolated...)
}

// newWorldOn is newWorld with data in the place of the toy's, unless that is nil.
func newWorldOn(t *testing.T, on Data, key string, transport comm.Transport, settings string, isolated ...Kind) *toyWorld {
	t.Helper()
	parts := toyParts
	if on != nil {
		parts = append([]Part{NewData(key, struct{}{}, func(struct{}, DataEnv) (Data, error) { return on, nil })}, toyParts...)
	}
	return newWorldOf(t, parts, key, transport, settings, isolated...)
}

// newWorldOf makes a world of those of the parts that have a key, the first of each kind.
func newWorldOf(t *testing.T, parts []Part, key string, transport comm.Transport, settings string, isolated ...Kind) *toyWorld {
	t.Helper()
	dir := folder(t)
	choose := func(kind Kind) *proto.PartChoice {
		c := &proto.PartChoice{Kind: string(kind), Key: key}
		if slices.Contains(Isolable, kind) {
			c.Settings = []byte(settings)
		}
		return c
	}
	enter := func(name string, kind Kind, local ...*proto.PartChoice) (*station, role) {
		st := stationOf(t, dir, parts, &proto.ConfigureRequest{
			Name: name, Part: choose(kind), Local: local, BatchSize: 2, Summarize: true, Seed: 3, Transport: string(transport), Listen: "127.0.0.1",
		})
		r, err := newRole(st)
		must(t, err)
		return st, r
	}
	var local []*proto.PartChoice
	for _, kind := range Isolable {
		if !slices.Contains(isolated, kind) {
			local = append(local, choose(kind))
		}
	}
	st, made := enter("trainer0", KindTrainer, local...)
	dataStation, data := enter("data", KindData)
	w := &toyWorld{trainer: made.(*trainerRole), companions: map[Kind]role{}}
	req := &proto.ConnectRequest{
		Model: w.trainer.describeModel(), Data: peerOf(dataStation),
		Trainers: []*proto.Peer{peerOf(st)}, Companions: map[string]*proto.Peer{},
	}
	roles := []role{data}
	for _, kind := range isolated {
		cst, c := enter("trainer0."+string(kind), kind)
		req.Companions[string(kind)] = peerOf(cst)
		w.companions[kind] = c
		roles = append(roles, c)
		if m, ok := c.(modeller); ok {
			req.Model = m.describeModel()
		}
	}
	plan, err := w.trainer.plan(&proto.PlanRequest{Model: req.GetModel()})
	must(t, err)
	req.Buckets = plan.GetBuckets()
	deal, err := data.(*dataRole).deal(&proto.DealRequest{Inputs: plan.GetInputs(), BatchSize: 2, Sets: []*proto.TrainerSet{{Trainers: []int32{0}}}})
	must(t, err)
	req.Share, req.Streamed = deal.GetShares()[0], deal.GetStreamed()
	joined := make(chan error, len(roles))
	for _, r := range roles {
		go func() {
			_, err := r.connect(req)
			joined <- err
		}()
	}
	w.reply, err = w.trainer.connect(req)
	must(t, err)
	for range roles {
		must(t, <-joined)
	}
	t.Cleanup(w.disconnect)
	return w
}

// disconnect closes the links to the companions, which then end.
func (w *toyWorld) disconnect() {
	switch m := w.trainer.parts.Model.(type) {
	case *remoteModel:
		_ = m.conn.Close()
	case remoteFeatureModel:
		_ = m.conn.Close()
	}
	if c, ok := w.trainer.parts.Criterion.(*remoteCriterion); ok {
		_ = c.conn.Close()
	}
	if h, ok := w.trainer.parts.Hook.(*remoteHook); ok {
		_ = h.link.Close()
	}
}

// outcome is all that a pass computes: losses, parameters and summaries.
type outcome struct {
	Losses  []float64
	Values  [][]float32
	Summary [][]float64
}

func (w *toyWorld) pass(t *testing.T) (o outcome) {
	t.Helper()
	must(t, w.trainer.reset())
	reply, err := w.trainer.train(t.Context(), math.MaxInt)
	must(t, err)
	if reply.GetWork().GetStartNs() <= 0 || reply.GetWork().GetEndNs() < reply.GetWork().GetStartNs() {
		t.Errorf("the pass lasted from %d to %d", reply.GetWork().GetStartNs(), reply.GetWork().GetEndNs())
	}
	for _, v := range w.trainer.parts.Values {
		o.Values = append(o.Values, slices.Clone(v.Data))
	}
	must(t, w.trainer.collect(func(r *proto.CollectReply) error {
		o.Losses = append(o.Losses, r.GetLosses()...)
		for _, p := range r.GetParameters() {
			o.Summary = append(o.Summary, append([]float64{p.GetDeltaSum(), p.GetDeltaSumsq()}, p.GetHead()...))
		}
		return nil
	}))
	return o
}

func TestCompanionsComputeTheSameBits(t *testing.T) {
	want := newToyWorld(t, comm.Unix, "{}").pass(t)
	if len(want.Losses) != 4 || want.Losses[0] == want.Losses[3] || len(want.Summary) != 2 || want.Summary[0][0] == 0 {
		t.Fatalf("the toy does not train: %+v", want)
	}
	for _, transport := range tested {
		for _, isolated := range [][]Kind{nil, {KindModel}, {KindCriterion}, {KindHook}, Isolable} {
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
	for _, transport := range tested {
		w := newToyWorld(t, transport, "{}", KindHook)
		w.pass(t)
		var keys []string
		w.companions[KindHook].(*hookRole).recorder.Series("hook", "toy").Each(func(m Measurement) { keys = append(keys, m.Key.String()) })
		if d := cmp.Diff([]string{"0,0", "0,1", "1,0", "1,1", "2,0", "2,1", "3,0", "3,1"}, keys); d != "" {
			t.Errorf("%s: %s", transport, d)
		}
	}
}

func TestErrorsCrossAsSentences(t *testing.T) {
	for _, transport := range tested {
		for call, c := range map[string]struct {
			kind   Kind
			method string
		}{"forward": {KindModel, "Forward"}, "backward": {KindModel, "Backward"}, "loss": {KindCriterion, "Forward"}, "gradient": {KindCriterion, "Backward"}} {
			beside := newToyWorld(t, transport, `{"fail": "`+call+`"}`, c.kind)
			within := newToyWorld(t, transport, `{"fail": "`+call+`"}`)
			title := string(c.kind) + " toy, " + c.method + ": the toy is broken"
			for want, w := range map[string]*toyWorld{
				"trainer0, epoch 0, batch 0: trainer0." + string(c.kind) + ": " + title: beside,
				"trainer0, epoch 0, batch 0: " + title:                                  within,
			} {
				must(t, w.trainer.reset())
				if _, err := w.trainer.train(t.Context(), math.MaxInt); err == nil || err.Error() != want {
					t.Errorf("%s: a %s that fails gave %v", transport, call, err)
				}
			}
		}
		hookFails(t, transport)
	}
}

// hookFails has a hook fail in its companion.
func hookFails(t *testing.T, transport comm.Transport) {
	t.Helper()
	w := newToyWorld(t, transport, `{"fail": "reduce"}`, KindHook)
	must(t, w.trainer.reset())
	ended := make(chan error, 1)
	go func() {
		_, err := w.trainer.train(t.Context(), math.MaxInt)
		ended <- err
	}()
	failure := <-w.companions[KindHook].(*hookRole).events.failures
	if got := failure.GetFailure().GetMessage(); got != "trainer0.hook: hook toy, Reduce: the toy is broken" {
		t.Errorf("%s: a hook that fails in its companion told %q", transport, got)
	}
	w.disconnect() // as the end of the run does
	if err := <-ended; err == nil {
		t.Errorf("%s: the trainer's pass has no error", transport)
	}
	w = newToyWorld(t, transport, `{"fail": "reduce"}`)
	must(t, w.trainer.reset())
	if _, err := w.trainer.train(t.Context(), math.MaxInt); err == nil || err.Error() != "trainer0, epoch 0, batch 0: hook toy, Reduce: the toy is broken" {
		t.Errorf("%s: a hook that fails gave %v", transport, err)
	}
}

func callPair(t testing.TB) (trainer, companion *callLink) {
	a, b := pair(t)
	return &callLink{Conn: a}, &callLink{Conn: b}
}

// A header whose counts lie is refused: no panic, no room for what never comes.
func TestCompanionsRefuseLies(t *testing.T) {
	const huge = int64(1) << 61
	for name, h := range map[string]comm.Header{
		"overflowing rows":    {Op: opLoss, Arg: huge, Arg2: 0},
		"overflowing columns": {Op: opLoss, Arg: 1, Arg2: huge},
		"both":                {Op: opLoss, Arg: 1 << 33, Arg2: 1 << 33},
		"negative":            {Op: opLoss, Arg: -1, Arg2: -1},
		"too little":          {Op: opLoss, Arg: 2, Arg2: 2},
		"an unknown call":     {Op: opForward},
	} {
		trainer, companion := callPair(t)
		r := &criterionRole{station: &station{events: newEvents(), timeout: patience}, criterion: &toyCriterion{}, conn: companion}
		served := make(chan struct{})
		go func() {
			defer close(served)
			r.serveCalls(companion, r.answer)
		}()
		must(t, trainer.Send(&h))
		var answer comm.Header
		if err := readAnswer(trainer, &answer); err == nil || !strings.Contains(err.Error(), "companion: ") {
			t.Errorf("%s: %v", name, err)
		}
		// What the trainer still sends must neither block it nor be taken for a call.
		must(t, trainer.SetWriteDeadline(time.Now().Add(patience)))
		must(t, trainer.Send(&comm.Header{Op: opLoss}, make([]byte, 4<<20)))
		must(t, trainer.Close())
		<-served
		if len(r.events.failures) != 0 {
			t.Errorf("%s: the companion told of %v beside its answer", name, <-r.events.failures)
		}
	}
}

func TestRemoteModelRefusesLies(t *testing.T) {
	for name, h := range map[string]comm.Header{
		"overflowing columns": {Op: opForward, Arg: 1, Arg2: 1 << 62},
		"negative columns":    {Op: opForward, Arg: 1, Arg2: -1},
		"another batch":       {Op: opForward, Arg: 2, Arg2: 0},
		"too little":          {Op: opForward, Arg: 1, Arg2: 2},
	} {
		trainer, companion := callPair(t)
		m := newRemoteModel(trainer, nil, modelToProto(&toyModel{}), patience)
		must(t, companion.Send(&h))
		if _, err := m.Forward(&numbered(1)[0]); err == nil || !strings.Contains(err.Error(), "answered a batch of 1 with an output of") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A gradient that a companion sends again is refused before it is read: the one that was
// sent first may be under way.
func TestRemoteModelRefusesAGradientTwice(t *testing.T) {
	for _, mapped := range []*comm.Store{nil, comm.NewStore(nil)} {
		trainer, companion := callPair(t)
		m := newRemoteModel(trainer, mapped, modelToProto(&featureModel{}), patience)
		weight := &tensor.Gradient{Values: make([]float32, 6)}
		must(t, m.Bind(make([]tensor.Tensor, 1), []*tensor.Gradient{weight}))
		for _, value := range []float32{1, 2} {
			var payload []byte
			if mapped == nil {
				payload = tensor.Float32Bytes([]float32{value, 0, 0, 0, 0, 0})
			}
			must(t, companion.Send(&comm.Header{Op: opGradient, Arg2: 6}, payload))
		}
		emitted := 0
		err := m.Backward(tensor.Tensor{}, func(int) { emitted++ })
		if err == nil || !strings.Contains(err.Error(), "companion emitted the gradient of parameter weight twice") || emitted != 1 || weight.Values[0] == 2 {
			t.Errorf("mapped %v: it gave %v, emitted %d and left %v", mapped != nil, err, emitted, weight.Values)
		}
	}
}

func TestSilentCompanionEndsTheCallInTime(t *testing.T) {
	trainer, _ := callPair(t)
	m := newRemoteModel(trainer, nil, modelToProto(&toyModel{}), 20*time.Millisecond)
	must(t, m.Bind([]tensor.Tensor{tensor.New(8 << 20)}, nil)) // more than a socket holds
	_, err := m.Forward(&numbered(1)[0])
	if f := asFailure(err); f.GetCause() != proto.Failure_CAUSE_WAIT || !slices.Equal(f.GetAbout(), []string{"companion"}) {
		t.Errorf("a companion that does not read gave %v", err)
	}
}
