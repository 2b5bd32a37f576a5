package toys

import (
	"slices"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
)

// mean averages over this number of trainers.
type mean int

func (mean) Combine(sum []float32, others [][]float32) {
	for _, other := range others {
		vec.Add(sum, other)
	}
}

func (n mean) Finish(sum []float32) { vec.Scale(1/float32(n), sum) }

// step is the learning rate of servers that hold parameters or tables.
const step = 1.0 / 16

// parameters owns the model of a run. The server steps the model once all trainers have pushed.
type parameters struct {
	mu      sync.Mutex
	env     sdk.ServerEnv
	values  []tensor.Tensor
	pending map[[2]int64][]sdk.Push // pushes by batch and bucket
}

func newParameters(env sdk.ServerEnv) (*parameters, error) {
	s := &parameters{env: env}
	var gradients []*tensor.Gradient
	for _, p := range env.Model.Parameters() {
		s.values = append(s.values, tensor.New(p.Shape...))
		gradients = append(gradients, &tensor.Gradient{Values: make([]float32, tensor.Elements(p.Shape))})
	}
	return s, env.Model.Bind(s.values, gradients)
}

func (s *parameters) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.env.Model.Initialize(s.env.Seed)
	s.pending = map[[2]int64][]sdk.Push{}
}

func (s *parameters) Receive(p sdk.Push) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Batch == 0 { // batch 0 fetches
		return s.answer(p)
	}
	key := [2]int64{p.Batch, int64(p.Bucket)}
	s.pending[key] = append(s.pending[key], p)
	if len(s.pending[key]) < s.env.Trainers {
		return nil
	}
	pushes := s.pending[key]
	delete(s.pending, key)
	slices.SortFunc(pushes, func(a, b sdk.Push) int { return a.Trainer - b.Trainer }) // gives the same bits each time
	for _, span := range s.env.Buckets[p.Bucket].Parameters {
		for _, push := range pushes {
			vec.Axpy(-step/float32(s.env.Trainers), push.Gradient.Values[span.Offset:span.Offset+span.Elements],
				s.values[span.Parameter].Data)
		}
	}
	for _, push := range pushes {
		if err := s.answer(push); err != nil {
			return err
		}
	}
	return nil
}

// answer replaces the pushed values by the parameters of the bucket.
func (s *parameters) answer(p sdk.Push) error {
	for _, span := range s.env.Buckets[p.Bucket].Parameters {
		copy(p.Gradient.Values[span.Offset:], s.values[span.Parameter].Data)
	}
	return p.Answer(p.Gradient)
}

// TableSpec is the size of Table.
var TableSpec = comm.TableSpec{Rows: 12, Width: 3}

// table steps its rows by plain SGD.
type table struct {
	position int
	values   []float32
}

func (*table) Table() comm.TableSpec { return TableSpec }

func (t *table) Reset() {
	t.values = make([]float32, TableSpec.Rows*TableSpec.Width)
	for i := range t.values {
		t.values[i] = Number(1000*t.position + i)
	}
}

func (t *table) Lookup(call *comm.TableCall) error {
	for i := range call.Bags() {
		vec.GatherSum(call.Columns(i), t.values, TableSpec.Width, call.Bag(i))
	}
	return nil
}

func (t *table) Update(call *comm.TableCall) error {
	for i := range call.Bags() {
		for _, row := range call.Bag(i) {
			at := int(row) * TableSpec.Width
			vec.Axpy(-step, call.Columns(i), t.values[at:at+TableSpec.Width])
		}
	}
	return nil
}
