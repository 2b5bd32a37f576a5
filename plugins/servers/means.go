package servers

import (
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
	// take takes a complete report in, which is the first of its round or not.
	take(trainer int, report []sdk.Push, first bool) error
	// mean takes the mean of the reports of some trainers, in the order in which they were taken in.
	mean(trainers []int) error
	io.Closer
}

// newMeans are means in the engine's memory where the engine can, else in ordinary memory. bus counts the bytes
// that are copied between both.
func newMeans(env *sdk.ServerEnv, bus *sdk.Counter) (means, error) {
	if averager, ok := env.Engine.(engine.Averager); ok {
		return newEngineMeans(averager, env.Buckets, env.Trainers, bus)
	}
	return newHostMeans(env.Engine, env.Buckets, bus)
}

// hostMeans adds reports up in ordinary memory as they come. Where Go cannot touch the memory of the
// engine, each mean is copied there.
type hostMeans struct {
	engine    engine.Engine
	sum       *comm.Store
	gradients [][]float32 // by bucket, in the engine's memory, which is where sum is if Go can touch it
	adopted   io.Closer   // sum, by the engine that copies from it
	bus       *sdk.Counter
}

func newHostMeans(e engine.Engine, specs []tensor.BucketSpec, bus *sdk.Counter) (*hostMeans, error) {
	m := &hostMeans{engine: e, sum: comm.NewStore(specs), bus: bus}
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

func (m *hostMeans) take(_ int, report []sdk.Push, first bool) error {
	for i, p := range report {
		if sum := m.sum.Buckets[i].Gradient.Values; first {
			copy(sum, p.Gradient.Values)
		} else {
			vec.Add(sum, p.Gradient.Values)
		}
	}
	return nil
}

func (m *hostMeans) mean(trainers []int) error {
	var last engine.Ticket
	for i, b := range m.sum.Buckets {
		if len(trainers) > 1 {
			vec.Scale(1/float32(len(trainers)), b.Gradient.Values)
		}
		if !m.engine.Addressable() {
			host := tensor.Float32Bytes(b.Gradient.Values)
			last = m.engine.CopyIn(tensor.Float32Bytes(m.gradients[i]), host)
			m.bus.Add(int64(len(host)))
		}
	}
	return m.engine.Wait(last)
}

func (m *hostMeans) Close() error { return m.adopted.Close() }

// engineMeans has the engine add reports up and divide. A report is copied in when it comes, each to a
// place of its own, so that the copies hide behind stragglers: of T trainers with n parameters 4Tn bytes of
// the engine's memory, and as many beside it, since where pushes lie the engine has not adopted.
type engineMeans struct {
	engine    engine.Averager
	gradients [][]float32     // by bucket
	reports   [][][]float32   // by bucket and trainer
	staged    []*comm.Store   // by trainer: what is copied in
	copied    []engine.Ticket // by trainer: the last of these copies
	parts     [][]float32     // of a mean
	adopted   io.Closer       // staged
	bus       *sdk.Counter
}

func newEngineMeans(e engine.Averager, specs []tensor.BucketSpec, trainers int, bus *sdk.Counter) (*engineMeans, error) {
	m := &engineMeans{engine: e, bus: bus, copied: make([]engine.Ticket, trainers), parts: make([][]float32, trainers)}
	for _, spec := range specs {
		memory := make([][]float32, 1+trainers)
		for i := range memory {
			var err error
			if memory[i], err = engine.Floats(e, spec.Elements); err != nil {
				return nil, err
			}
		}
		m.gradients, m.reports = append(m.gradients, memory[0]), append(m.reports, memory[1:])
	}
	var hosts [][]byte
	for range trainers {
		s := comm.NewStore(specs)
		m.staged, hosts = append(m.staged, s), append(hosts, s.Memory()...)
	}
	var err error
	m.adopted, err = engine.Adopt(e, "buckets", hosts)
	return m, err
}

func (m *engineMeans) memory(bucket int) []float32 { return m.gradients[bucket] }

func (m *engineMeans) take(trainer int, report []sdk.Push, _ bool) error {
	if err := m.engine.Wait(m.copied[trainer]); err != nil { // of a pass that failed, they may be on their way still
		return err
	}
	for i, p := range report {
		host := m.staged[trainer].Buckets[i].Gradient.Values
		copy(host, p.Gradient.Values)
		m.copied[trainer] = m.engine.CopyIn(tensor.Float32Bytes(m.reports[i][trainer]), tensor.Float32Bytes(host))
		m.bus.Add(int64(4 * len(host)))
	}
	return nil
}

func (m *engineMeans) mean(trainers []int) error {
	for _, t := range trainers {
		if err := m.engine.Wait(m.copied[t]); err != nil {
			return err
		}
	}
	parts := m.parts[:len(trainers)]
	for i, gradients := range m.gradients {
		for k, t := range trainers {
			parts[k] = m.reports[i][t]
		}
		if err := m.engine.Mean(gradients, parts); err != nil {
			return err
		}
	}
	return nil
}

func (m *engineMeans) Close() error { return m.adopted.Close() }

// beside is the engine's memory for what a bucket holds: the bucket's own where Go can touch it.
func beside(e engine.Engine, b *tensor.Bucket) ([]float32, error) {
	if e.Addressable() {
		return b.Gradient.Values, nil
	}
	return engine.Floats(e, b.Elements)
}
