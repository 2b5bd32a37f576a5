package servers

import (
	"cmp"
	"io"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// means takes the mean of the reports of each round.
type means interface {
	// memory is where the mean of a bucket comes to lie, in the engine's memory.
	memory(bucket int) []float32
	// take takes a complete report in, which is the first of its round or not. Its gradients stay as they are until
	// mean has returned.
	take(trainer int, report []sdk.Push, first bool) error
	// mean takes the mean of the reports of a round. It adds them up in the order of trainers, which ascends, so that
	// it has the same bits whoever came first.
	mean(trainers []int) error
	io.Closer
}

// newMeans are means in the engine's memory where the engine can, else in ordinary memory. bus counts the bytes
// that are copied between both.
func newMeans(env *sdk.ServerEnv, bus *sdk.Counter) (means, error) {
	if averager, ok := env.Engine.(engine.Averager); ok {
		return newEngineMeans(averager, env.Buckets, env.Trainers, bus)
	}
	return newHostMeans(env.Engine, env.Buckets, env.Trainers, bus)
}

// hostMeans adds up reports in ordinary memory. It adds a report on arrival if the reports of all trainers before it
// are there, so that the addition overlaps with the wait for stragglers. It adds the others block by block once the
// round is complete: k reports of n parameters then move 4n(k+2) bytes, while a single addition and division of one
// moves 20n. If Go cannot touch the memory of the engine, each mean is copied there.
type hostMeans struct {
	engine    engine.Engine
	sum       *comm.Store
	reports   [][]sdk.Push // by trainer: of the round; nil until it comes
	added     int          // the reports of so many trainers, from the first one on, are in sum
	gradients [][]float32  // by bucket, in the engine's memory, which is where sum is if Go can touch it
	adopted   io.Closer    // sum, by the engine that copies from it
	bus       *sdk.Counter
}

func newHostMeans(e engine.Engine, specs []tensor.BucketSpec, trainers int, bus *sdk.Counter) (*hostMeans, error) {
	m := &hostMeans{engine: e, sum: comm.NewStore(specs), reports: make([][]sdk.Push, trainers), bus: bus}
	for _, b := range m.sum.Buckets {
		memory, err := beside(e, b)
		if err != nil {
			return nil, err
		}
		m.gradients = append(m.gradients, memory)
	}
	var err error
	m.adopted, err = engine.Adopt(e, "buckets", m.sum.Memory())
	return m, err
}

func (m *hostMeans) memory(bucket int) []float32 { return m.gradients[bucket] }

func (m *hostMeans) take(trainer int, report []sdk.Push, first bool) error {
	if first {
		clear(m.reports)
		m.added = 0
	}
	m.reports[trainer] = report
	for ; m.added < len(m.reports) && m.reports[m.added] != nil; m.added++ {
		for i, p := range m.reports[m.added] {
			addTo(m.sum.Buckets[i].Gradient.Values, p.Gradient.Values, m.added == 0)
		}
	}
	return nil
}

// addTo adds a gradient to a sum, which it is the first of or not.
func addTo(sum, gradient []float32, first bool) {
	if first {
		copy(sum, gradient)
	} else {
		vec.Add(sum, gradient)
	}
}

func (m *hostMeans) mean(trainers []int) error {
	var last engine.Ticket
	for i, b := range m.sum.Buckets {
		m.meanOf(i, b.Gradient.Values, trainers)
		if !m.engine.Addressable() {
			host := tensor.Float32Bytes(b.Gradient.Values)
			last = m.engine.CopyIn(tensor.Float32Bytes(m.gradients[i]), host)
			m.bus.Add(int64(len(host)))
		}
	}
	return m.engine.Wait(last)
}

// meanOf adds to the sum of a bucket what is not in it yet, and divides.
func (m *hostMeans) meanOf(bucket int, sum []float32, trainers []int) {
	for from := 0; from < len(sum); from += comm.BlockElements {
		to := min(from+comm.BlockElements, len(sum))
		for i, t := range trainers {
			if t >= m.added {
				addTo(sum[from:to], m.reports[t][bucket].Gradient.Values[from:to], i == 0)
			}
		}
		if len(trainers) > 1 {
			vec.Scale(1/float32(len(trainers)), sum[from:to])
		}
	}
}

func (m *hostMeans) Close() error { return m.adopted.Close() }

// engineMeans has the engine add reports up and divide. A report that its trainer shares is read where it lies. Any
// other is copied in when it comes, each to a place of its own, so that the copies hide behind stragglers: of T such
// trainers with n parameters 4Tn bytes of the engine's memory, and as many beside it, since where pushes lie the engine
// has not adopted.
type engineMeans struct {
	engine    engine.Averager
	specs     []tensor.BucketSpec
	gradients [][]float32   // by bucket
	reports   [][][]float32 // by trainer and bucket: where they lie in the engine's memory
	stages    []*stage      // by trainer; nil until it sends a report that is copied
	parts     [][]float32   // of a mean
	bus       *sdk.Counter
}

// stage is what the reports of a trainer are copied through.
type stage struct {
	host    *comm.Store
	memory  [][]float32 // by bucket, in the engine's
	copied  engine.Ticket
	adopted io.Closer // host
}

func newEngineMeans(e engine.Averager, specs []tensor.BucketSpec, trainers int,
	bus *sdk.Counter) (*engineMeans, error) {
	m := &engineMeans{engine: e, specs: specs, bus: bus, stages: make([]*stage, trainers),
		parts: make([][]float32, trainers)}
	var err error
	if m.gradients, err = m.room(); err != nil {
		return nil, err
	}
	for range trainers {
		m.reports = append(m.reports, make([][]float32, len(specs)))
	}
	return m, nil
}

// room is memory of the engine for each bucket.
func (m *engineMeans) room() (buckets [][]float32, err error) {
	buckets = make([][]float32, len(m.specs))
	for i, spec := range m.specs {
		if buckets[i], err = engine.Floats(m.engine, spec.Elements); err != nil {
			return nil, err
		}
	}
	return buckets, nil
}

func (m *engineMeans) memory(bucket int) []float32 { return m.gradients[bucket] }

func (m *engineMeans) take(trainer int, report []sdk.Push, _ bool) error {
	if s := m.stages[trainer]; s != nil {
		if err := m.engine.Wait(s.copied); err != nil { // of a pass that failed, copies may be on their way still
			return err
		}
	}
	for i, p := range report {
		at, err := m.place(trainer, i, p.Gradient.Values)
		if err != nil {
			return err
		}
		m.reports[trainer][i] = at
	}
	return nil
}

// place has what a trainer pushed be in the engine's memory, and says where.
func (m *engineMeans) place(trainer, bucket int, values []float32) ([]float32, error) {
	if loan := borrow(m.engine, values); loan != nil {
		return values, loan.Take()
	}
	s, err := m.stage(trainer)
	if err != nil {
		return nil, err
	}
	host, memory := s.host.Buckets[bucket].Gradient.Values, s.memory[bucket]
	copy(host, values)
	s.copied = m.engine.CopyIn(tensor.Float32Bytes(memory), tensor.Float32Bytes(host))
	m.bus.Add(int64(4 * len(host)))
	return memory, nil
}

// stage returns the stage of a trainer and makes it for the first report.
func (m *engineMeans) stage(trainer int) (*stage, error) {
	if s := m.stages[trainer]; s != nil {
		return s, nil
	}
	s := &stage{host: comm.NewStore(m.specs)}
	var err error
	if s.memory, err = m.room(); err != nil {
		return nil, err
	}
	if s.adopted, err = engine.Adopt(m.engine, "buckets", s.host.Memory()); err != nil {
		return nil, err
	}
	m.stages[trainer] = s
	return s, nil
}

func (m *engineMeans) mean(trainers []int) error {
	for _, t := range trainers {
		if s := m.stages[t]; s != nil {
			if err := m.engine.Wait(s.copied); err != nil {
				return err
			}
		}
	}
	parts := m.parts[:len(trainers)]
	for i, gradients := range m.gradients {
		for k, t := range trainers {
			parts[k] = m.reports[t][i]
		}
		if err := m.engine.Mean(gradients, parts); err != nil {
			return err
		}
	}
	return nil
}

func (m *engineMeans) Close() (err error) {
	for _, s := range m.stages {
		if s != nil {
			err = cmp.Or(err, s.adopted.Close())
		}
	}
	return err
}

// borrow is the loan of what a trainer has pushed; nil where it does not share that with the engine.
func borrow(e engine.Engine, values []float32) engine.Loan {
	if b, ok := e.(engine.Borrower); ok {
		return b.Borrow(values)
	}
	return nil
}

// beside is the engine's memory for what a bucket holds: the bucket's own where Go can touch it.
func beside(e engine.Engine, b *tensor.Bucket) ([]float32, error) {
	if e.Addressable() {
		return b.Gradient.Values, nil
	}
	return engine.Floats(e, b.Elements)
}
