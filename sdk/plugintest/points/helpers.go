package points

import (
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/process"
)

// What a part is tested with: a server for hooks, a hook for servers, a model for servers of
// parameters.
var (
	averager = sdk.NewElementwiseServer("plugintest", sdk.OnArrival, struct{}{}, func(_ struct{}, env sdk.ServerEnv) (sdk.ElementwiseServer, error) {
		return mean(env.Trainers), nil
	})
	pusher = sdk.NewHook("plugintest", struct{}{}, func(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
		return push{env.Server}, nil
	}, sdk.LinkServer)
	serverModel = sdk.NewModel("plugintest", struct{}{}, func(struct{}, sdk.ModelEnv) (sdk.Model, error) { return &heldModel{}, nil })
)

type mean int

func (mean) Combine(sum []float32, others [][]float32) {
	for _, other := range others {
		vec.Add(sum, other)
	}
}

func (n mean) Finish(sum []float32) { vec.Scale(1/float32(n), sum) }

type push struct{ to comm.PushPuller }

func (p push) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return p.to.PushPull(state.Batch(), b)
}
func (push) Reset() {}

// heldModel is parameters of the sizes that a server is tried with.
type heldModel struct{ values []tensor.Tensor }

func (*heldModel) Parameters() []sdk.ParameterSpec {
	var specs []sdk.ParameterSpec
	for _, b := range denseBuckets() {
		specs = append(specs, sdk.ParameterSpec{Name: "parameter", Shape: []int{b.Elements}})
	}
	return specs
}
func (*heldModel) Inputs() sdk.InputSpec { return sdk.InputSpec{Features: 1, Classes: 2} }
func (m *heldModel) Bind(values []tensor.Tensor, _ []*tensor.Gradient) error {
	m.values = values
	return nil
}

func (m *heldModel) Initialize(seed uint64) {
	for k, v := range m.values {
		for i := range v.Data {
			v.Data[i] = number(int(seed%1000) + 31*k + i) // #nosec G115 -- below 1000
		}
	}
}

func (*heldModel) Forward(b *sdk.Batch) (tensor.Tensor, error) { return tensor.New(b.Size(), 2), nil }

func (m *heldModel) Backward(_ tensor.Tensor, emit func(int)) error {
	for k := range m.values {
		emit(k)
	}
	return nil
}

// serverModel is that of a server of parameters.
func (s *Subject) serverModel() *process.Choice {
	if s.Part.Kind != sdk.KindServer || s.Part.Serves != sdk.ServiceParameters {
		return nil
	}
	return &process.Choice{Kind: sdk.KindModel, Key: serverModel.Key, Settings: []byte("{}")}
}

const (
	maxBatch  = 33 // samples of the batches that parts are given
	hostGrace = 5 * time.Second
)

// transport keeps buckets on the heap, where a part that writes too late is found; mapped memory
// would be gone, and the process of the test with it.
const transport = "unix"

// secret is that of the world's links.
var secret = []byte("plugintest plugintest plugintest")

// waits are the timeouts of a world.
type waits struct{ timeout time.Duration }

func (p Point) limit(s *Subject) waits {
	if p.Wait > 0 {
		return waits{p.Wait}
	}
	return waits{s.timeout()}
}
