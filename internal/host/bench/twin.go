package bench

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/protocol"
	"github.com/psbench/psbench/sdk"
)

// twin is a second copy of the measured server. psbench asks the twin for the expected answers.
type twin struct {
	title       string
	elementwise sdk.ElementwiseServer // set for an elementwise server, instead of server
	server      sdk.Server
	answerer    sdk.Answerer // the server; nil if it cannot predict its answer, or if elementwise predicts the answer
	timing      sdk.Timing   // timing of the elementwise server
}

func (t *twin) reset() {
	if t != nil && t.server != nil {
		t.server.Reset()
	}
}

func (t *twin) silent() string {
	return t.title + " does not say what it answers: it is no sdk.Answerer"
}

// serverTwin builds a second copy of the measured server in this process.
func (r *Role) serverTwin(trainers int) (*twin, error) {
	if r.twin != nil {
		return r.twin, nil
	}
	part, err := r.Find(r.Part())
	if err != nil {
		return nil, err
	}
	t := &twin{title: r.Part().Title(), timing: part.Timing}
	env := sdk.ServerEnv{
		Rank: r.Rank(), Name: r.Name(), Trainers: trainers, Buckets: r.store.Specs(), Recorder: r.Recorder,
		Seed: r.config.Seed, Engine: r.Engine,
	}
	if part.Timing != 0 {
		t.elementwise, err = process.Build[sdk.ElementwiseServer](r.Process, r.Part(), env)
		t.answerer, _ = t.elementwise.(sdk.Answerer)
	} else if t.server, err = process.Build[sdk.Server](r.Process, r.Part(), env); err == nil {
		t.server.Reset()
		t.answerer, _ = t.server.(sdk.Answerer)
	}
	if err != nil {
		return nil, err
	}
	r.twin = t
	return t, nil
}

// joinTwin connects to a second copy of the server in a companion. psbench only asks that copy for
// answers.
func (r *Role) joinTwin(peer process.Peer) error {
	s, _, err := protocol.NewServer(r.Process, peer, r.store.Specs(), nil)
	r.twin = &twin{title: r.Part().Title(), server: s, answerer: s}
	return err
}

// take has an elementwise server combine others into sum.
func (t *twin) take(sum []float32, others [][]float32) {
	if t.timing == sdk.OnLastArrival {
		t.elementwise.Combine(sum, others)
		return
	}
	for i := range others {
		t.elementwise.Combine(sum, others[i:i+1])
	}
}

// answer is the bench.Answer for an elementwise server.
func (t *twin) answer(sum []float32, others [][]float32) {
	t.take(sum, others)
	t.elementwise.Finish(sum)
}

// reduce computes an elementwise server's answer to the pushed gradients.
func (t *twin) reduce(pushed []*tensor.Gradient, answer *tensor.Gradient) error {
	if answer.Sparse() {
		m := tensor.NewRowMerger(len(pushed))
		for _, g := range pushed {
			m.Add(g)
		}
		err := m.Combine(answer, t.take)
		t.elementwise.Finish(answer.Values)
		return err
	}
	copy(answer.Values, pushed[0].Values)
	var others [][]float32
	for _, g := range pushed[1:] {
		others = append(others, g.Values)
	}
	t.answer(answer.Values, others)
	return nil
}
