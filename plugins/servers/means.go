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

// means computes the mean of the reports of each round.
type means interface {
	// memory returns the engine's memory for the mean of a bucket.
	memory(bucket int) []float32
	// take adds a complete report; first says whether it is the first of its round. The report's gradients must not
	// change until mean has returned.
	take(trainer int, report []sdk.Push, first bool) error
	// mean computes the mean of the reports of a round. mean adds them in ascending order of trainers, so that the
	// order of arrival changes no bit.
	mean(trainers []int) error
	io.Closer
}

// newMeans returns means that the engine computes in its memory if it can average, and that are computed in ordinary
// memory otherwise. bus counts the bytes copied between the two memories.
func newMeans(env *sdk.ServerEnv, bus *sdk.Counter) (means, error) {
	if averager, ok := env.Engine.(engine.Averager); ok {
		return newEngineMeans(averager, env.Buckets, env.Trainers, bus)
	}
	return newHostMeans(env.Engine, env.Buckets, env.Trainers, bus)
}

// hostMeans adds up reports in ordinary memory. hostMeans adds a report on arrival if all earlier trainers' reports
// are there, so that the addition overlaps with the wait for stragglers. hostMeans adds the other reports block by
// block once the round is complete. Adding k reports of n parameters then moves 4n(k+2) bytes; a separate addition
// and division of one report moves 20n. If Go cannot access the engine's memory, hostMeans copies each mean there.
type hostMeans struct {
	engine    engine.Engine
	sum       *comm.Store
	reports   [][]sdk.Push // reports of the round by trainer; nil until a report arrives
	added     int          // sum contains the reports of so many trainers, from the first one on
	gradients [][]float32  // means by bucket, in the engine's memory; the same memory as sum if Go can access it
	adopted   io.Closer    // the engine's registration of sum, for copies
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

// addTo adds a gradient to a sum. If it is the first gradient, addTo copies it.
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

// meanOf adds the missing reports to the sum of a bucket, and divides.
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

// engineMeans lets the engine add up reports and divide. engineMeans reads a report in place if the trainer shares
// its buckets with the engine. engineMeans copies any other report to its own place on arrival, so that the copies
// overlap with the wait for stragglers. T such trainers with n parameters need 4Tn bytes of the engine's memory.
// These trainers need as many bytes of ordinary memory, because the engine has not registered the memory of the
// pushes.
type engineMeans struct {
	engine    engine.Averager
	specs     []tensor.BucketSpec
	gradients [][]float32   // by bucket
	reports   [][][]float32 // reports by trainer and bucket, in the engine's memory
	stages    []*stage      // stages by trainer; nil before the trainer's first report that must be copied
	parts     [][]float32   // the terms of a mean
	bus       *sdk.Counter
}

// stage is the memory through which the reports of a trainer are copied.
type stage struct {
	host    *comm.Store
	memory  [][]float32 // memory by bucket, in the engine's memory
	copied  engine.Ticket
	adopted io.Closer // the engine's registration of host
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

// room allocates the engine's memory for each bucket.
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
		if err := m.engine.Wait(s.copied); err != nil { // of a failed pass, whose copies may still run
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

// place puts a trainer's push into the engine's memory and returns the address.
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

// stage returns a trainer's stage. The trainer's first report creates it.
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

// borrow returns the loan of a trainer's pushed values, or nil if the trainer does not share them with the engine.
func borrow(e engine.Engine, values []float32) engine.Loan {
	if b, ok := e.(engine.Borrower); ok {
		return b.Borrow(values)
	}
	return nil
}

// beside returns the engine's memory for a bucket's values. This memory is the bucket's own if Go can access the
// engine's memory.
func beside(e engine.Engine, b *tensor.Bucket) ([]float32, error) {
	if e.Addressable() {
		return b.Gradient.Values, nil
	}
	return engine.Floats(e, b.Elements)
}
