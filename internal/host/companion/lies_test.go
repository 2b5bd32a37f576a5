package companion

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// callPair returns both ends of a call link between a trainer and another process.
func callPair(t testing.TB) (trainer, companion *call.Link) {
	a, b := hosttest.Pair(t)
	return &call.Link{Conn: a}, &call.Link{Conn: b}
}

// A companion refuses a header with false counts. The companion neither panics nor allocates memory
// for data that never comes.
func TestCompanionsRefuseLies(t *testing.T) {
	const huge = int64(1) << 61
	for name, h := range map[string]wire.Header{
		"overflowing rows":    {Op: opLoss, Arg: huge, Arg2: 0},
		"overflowing columns": {Op: opLoss, Arg: 1, Arg2: huge},
		"both":                {Op: opLoss, Arg: 1 << 33, Arg2: 1 << 33},
		"negative":            {Op: opLoss, Arg: -1, Arg2: -1},
		"too little":          {Op: opLoss, Arg: 2, Arg2: 2},
		"an unknown call":     {Op: opForward},
	} {
		trainer, companion := callPair(t)
		r := &CriterionRole{Process: &process.Process{Events: process.NewEvents(), Timeout: hosttest.Patience},
			criterion: &hosttest.ToyCriterion{}, conn: companion}
		served := make(chan struct{})
		go func() {
			defer close(served)
			serveCalls(r.Process, companion, r.answer)
		}()
		hosttest.Must(t, trainer.Send(&h))
		var answer wire.Header
		if err := call.ReadAnswer(trainer, &answer); err == nil || !strings.Contains(err.Error(), "companion: ") {
			t.Errorf("%s: %v", name, err)
		}
		// The companion must not block the trainer that is still sending, and must not take that data for
		// a call.
		hosttest.Must(t, trainer.SetWriteDeadline(time.Now().Add(hosttest.Patience)))
		hosttest.Must(t, trainer.Send(&wire.Header{Op: opLoss}, make([]byte, 4<<20)))
		hosttest.Must(t, trainer.Close())
		<-served
		if len(r.Events.Failures) != 0 {
			t.Errorf("%s: the companion told of %v beside its answer", name, <-r.Events.Failures)
		}
	}
}

func TestRemoteModelRefusesLies(t *testing.T) {
	for name, h := range map[string]wire.Header{
		"overflowing columns": {Op: opForward, Arg: 1, Arg2: 1 << 62},
		"negative columns":    {Op: opForward, Arg: 1, Arg2: -1},
		"another batch":       {Op: opForward, Arg: 2, Arg2: 0},
		"too little":          {Op: opForward, Arg: 1, Arg2: 2},
	} {
		t.Run(name, func(t *testing.T) {
			trainer, companion := callPair(t)
			m := newRemoteModel(trainer, nil, layout.Describe(&hosttest.ToyModel{}), hosttest.Patience)
			hosttest.Must(t, companion.Send(&h))
			if _, err := m.Forward(&hosttest.Numbered(1)[0]); err == nil ||
				!strings.Contains(err.Error(), "answered a batch of 1 with an output of") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// The trainer refuses a repeated gradient before reading it, because the first copy may be on its
// way over a link.
func TestRemoteModelRefusesAGradientTwice(t *testing.T) {
	for i, mapped := range []*comm.Store{nil, comm.NewStore(nil)} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			trainer, companion := callPair(t)
			m := newRemoteModel(trainer, mapped, layout.Describe(&hosttest.FeatureModel{}), hosttest.Patience)
			weight := &tensor.Gradient{Values: make([]float32, 6)}
			hosttest.Must(t, m.Bind(make([]tensor.Tensor, 1), []*tensor.Gradient{weight}))
			for _, value := range []float32{1, 2} {
				var payload []byte
				if mapped == nil {
					payload = tensor.Float32Bytes([]float32{value, 0, 0, 0, 0, 0})
				}
				hosttest.Must(t, companion.Send(&wire.Header{Op: opGradient, Arg2: 6}, payload))
			}
			emitted := 0
			err := m.Backward(tensor.Tensor{}, func(int) { emitted++ })
			if err == nil ||
				!strings.Contains(err.Error(), "companion emitted the gradient of parameter weight twice") ||
				emitted != 1 || weight.Values[0] == 2 {
				t.Errorf("mapped %v: it gave %v, emitted %d and left %v", mapped != nil, err, emitted, weight.Values)
			}
		})
	}
}

func TestSilentCompanionEndsTheCallInTime(t *testing.T) {
	trainer, _ := callPair(t)
	m := newRemoteModel(trainer, nil, layout.Describe(&hosttest.ToyModel{}), 20*time.Millisecond)
	hosttest.Must(t, m.Bind([]tensor.Tensor{tensor.New(8 << 20)}, nil)) // larger than a socket's buffer
	_, err := m.Forward(&hosttest.Numbered(1)[0])
	if f := fault.Describe(err); f.Cause != fault.Wait || !slices.Equal(f.About, []string{"companion"}) {
		t.Errorf("a companion that does not read gave %v", err)
	}
}

// A gradient of the features with a wrong size is refused by the trainer. Where the model has no
// such gradient, the companion refuses.
func TestFeatureGradientRefusesLies(t *testing.T) {
	trainer, companion := callPair(t)
	m := remoteFeatureModel{newRemoteModel(trainer, nil, layout.Describe(&hosttest.FeatureModel{}), hosttest.Patience)}
	hosttest.Must(t, m.Bind(make([]tensor.Tensor, 1), []*tensor.Gradient{{Values: make([]float32, 6)}}))
	hosttest.Must(t, companion.Send(&wire.Header{Op: opGradient, Arg2: 6}, make([]byte, 24)))
	hosttest.Must(t, companion.Send(&wire.Header{Op: opBackwardInput}, make([]byte, 8)))
	err := m.BackwardInput(tensor.Tensor{}, make([]float32, 3), func(int) {})
	if err == nil || !strings.Contains(err.Error(), "sent 8 bytes where 12 are due") {
		t.Errorf("a short gradient gave %v", err)
	}
	r := &ModelRole{Process: &process.Process{}, model: &hosttest.ToyModel{}, conn: companion}
	if err := r.answer(&wire.Header{Op: opBackwardInput}); err == nil ||
		err.Error() != "the model has no gradient of its features" {
		t.Errorf("a plain model answered %v", err)
	}
}

// A model has the same first tensor number in a companion as in its trainer's process.
func TestCompanionModelKnowsItsFirstTensor(t *testing.T) {
	role, err := NewModel(hosttest.Process(t, hosttest.Folder(t), hosttest.ToyParts, process.Config{
		Name: "trainer0.model", Part: hosttest.Choice("model", "features"),
	}), sdk.ModelEnv{FirstTensor: 5})
	hosttest.Must(t, err)
	if first := role.model.(hosted.FeatureModel).Model.(*hosttest.FeatureModel).First; first != 5 ||
		!role.DescribeModel().FeatureGradient {
		t.Errorf("it starts at number %d and describes %v", first, role.DescribeModel())
	}
}

// The trainer reports a companion that ends before it has initialized the parameters.
func TestInitializeThatFails(t *testing.T) {
	trainer, companion := callPair(t)
	m := newRemoteModel(trainer, nil, layout.Describe(&hosttest.ToyModel{}), hosttest.Patience)
	hosttest.Must(t, companion.Close())
	m.Initialize(1)
	if err := hosted.FailureOf(m); err == nil {
		t.Error("an initialization without a companion has no error")
	}
}
