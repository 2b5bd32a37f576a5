package hybrid

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins/trainers/internal/trainertest"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/optimizer"
)

// stub implements every part except the trainer. The stub's model takes 2 numbers and has two parameters, each in
// its own bucket. The gradient of its features is 1, 2, 3, ...
type stub struct {
	gradients []*tensor.Gradient
	output    tensor.Tensor
	silent    bool // Backward emits nothing
	quiet     bool // records nothing

	events   []string
	features [][]float32 // features of each Forward
	futures  map[string]*comm.Future
}

// note records an event and returns the future that the test set for it.
func (s *stub) note(event string) *comm.Future {
	if !s.quiet {
		s.events = append(s.events, event)
	}
	if f := s.futures[event]; f != nil {
		return f
	}
	return s.futures[""]
}

func (s *stub) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{{Name: "weight", Shape: []int{3, 2}}, {Name: "bias", Shape: []int{3}}}
}
func (s *stub) Inputs() sdk.InputSpec { return sdk.InputSpec{Features: 2, Classes: 3} }
func (s *stub) Initialize(uint64)     { s.note("initialize") }
func (s *stub) Bind(_ []tensor.Tensor, gradients []*tensor.Gradient) error {
	s.gradients = gradients
	return nil
}

func (s *stub) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	s.note("forward")
	if !s.quiet {
		s.features = append(s.features, slices.Clone(b.Features))
	}
	s.output.Shape[0], s.output.Data = b.Size(), s.output.Data[:3*b.Size()]
	return s.output, nil
}

func (s *stub) Backward(tensor.Tensor, func(int)) error {
	return errors.New("the tables get no gradient")
}

func (s *stub) BackwardInput(_ tensor.Tensor, input []float32, emit func(int)) error {
	for k := 1; k >= 0 && !s.silent; k-- {
		for i := range s.gradients[k].Values {
			s.gradients[k].Values[i] = 1
		}
		emit(k)
	}
	s.note("backward")
	for i := range input {
		input[i] = float32(i + 1)
	}
	return nil
}

func (s *stub) Reduce(_ sdk.HookState, b *tensor.Bucket) *comm.Future {
	return s.note([]string{"reduce 0", "reduce 1"}[b.Index])
}

func (s *stub) Reset() {}

// criterion always returns a loss of 1.
type criterion struct{}

func (criterion) Forward(tensor.Tensor, []int64) (float64, error) { return 1, nil }
func (criterion) Backward(tensor.Tensor) error                    { return nil }

// table is a server of 3 rows and one column. A lookup returns the number of the bag.
type table struct {
	sdk.TableServer
	stub           *stub
	lookup, update string
	got            []float32
}

func (s *table) Table() comm.TableSpec { return comm.TableSpec{Rows: 3, Width: 1} }

func (s *table) Lookup(call *comm.TableCall) error {
	for i := range call.Bags() {
		call.Columns(i)[0] = float32(10*call.Batch) + float32(i)
	}
	return s.stub.note(s.lookup).Wait()
}

func (s *table) Update(call *comm.TableCall) error {
	s.got = s.got[:0]
	for i := range call.Bags() {
		s.got = append(s.got, call.Columns(i)[0])
	}
	return s.stub.note(s.update).Wait()
}

func newStub() *stub {
	return &stub{output: tensor.New(4, 3), futures: map[string]*comm.Future{"": comm.Completed(nil)}}
}

// stubBatches are two batches: one with two bags and one with a single bag.
var stubBatches = []sdk.Batch{
	{Indices: []int64{0, 1, 2}, Offsets: []int64{0, 1, 3}, Targets: []int64{0, 1, 2, 0}},
	{Indices: []int64{2}, Offsets: []int64{0, 1}, Targets: []int64{1, 1}},
}

// attached returns a trainer with 4 tables of one column each, which make two rows of the model's features, and
// stubBatches. If settings choose no optimizer, it uses SGD.
func attached(t *testing.T, s *stub, settings Settings, epochs int) (*trainer, []*table, *sdk.Recorder) {
	t.Helper()
	settings.BucketBytes = 4
	if settings.Optimizer == "" {
		settings.Settings = optimizer.Defaults(0.5, 0)
	}
	made, err := New(settings, sdk.TrainerEnv{Name: "trainer0", Epochs: epochs, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	parts := trainertest.Parts(t, made, s)
	parts.Criterion, parts.Hook = criterion{}, s
	parts.Batches = sdk.NewBatches(stubBatches)
	tables := make([]*table, 4)
	servers := make([]sdk.TableServer, 4)
	for i := range tables {
		number := string(rune('0' + i))
		tables[i] = &table{stub: s, lookup: "lookup " + number, update: "update " + number}
		servers[i] = tables[i]
	}
	parts.Tables = localTables(t, stubBatches, servers...)
	if err := made.Attach(parts); err != nil {
		t.Fatal(err)
	}
	if err := made.Reset(); err != nil {
		t.Fatal(err)
	}
	return made.(*trainer), tables, parts.Recorder
}

// pending returns a promise that completes after a while unless the test completes it earlier.
func pending(t *testing.T) *comm.Promise {
	p := comm.NewPromise(nil)
	p.Begin()
	timer := time.AfterFunc(10*time.Second, func() { p.Complete(errors.New("nobody came")) })
	t.Cleanup(func() { timer.Stop() })
	return p
}

// calling is a link that answers by calling a function.
type calling struct {
	comm.TableLink
	lookup, update func() *comm.Future
}

func (l calling) Lookup(int64) *comm.Future { return l.lookup() }
func (l calling) Update(int64) *comm.Future { return l.update() }
