package bench

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/protocol"
	"github.com/psbench/psbench/sdk"
)

// twin is a second server of the sort that is measured, which says what that must answer.
type twin struct {
	title       string
	elementwise sdk.ElementwiseServer // or
	server      sdk.Server
	answerer    sdk.Answerer // the server; nil if it cannot say, of an elementwise one if its methods do
	timing      sdk.Timing   // of an elementwise one
}

func (t *twin) reset() {
	if t != nil && t.server != nil {
		t.server.Reset()
	}
}

func (t *twin) silent() string {
	return t.title + " does not say what it answers: it is no sdk.Answerer"
}

// serverTwin builds the server that the process was given as its part, beside the one that is
// measured.
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

// joinTwin joins a second server in a companion, which is only asked.
func (r *Role) joinTwin(peer process.Peer) error {
	s, _, err := protocol.NewServer(r.Process, peer, r.store.Specs(), nil)
	r.twin = &twin{title: r.Part().Title(), server: s, answerer: s}
	return err
}

// take has an elementwise server take others into sum.
func (t *twin) take(sum []float32, others [][]float32) {
	if t.timing == sdk.OnLastArrival {
		t.elementwise.Combine(sum, others)
		return
	}
	for i := range others {
		t.elementwise.Combine(sum, others[i:i+1])
	}
}

// answer is a bench.Answer of an elementwise server.
func (t *twin) answer(sum []float32, others [][]float32) {
	t.take(sum, others)
	t.elementwise.Finish(sum)
}

// reduce makes answer what an elementwise server makes of gradients.
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
