package servers

import (
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
)

// average answers with the mean of all trainers' gradients. As the server average, it adds each gradient on
// arrival, so that the additions overlap with the wait for stragglers. As average_batch, it stores the gradients
// and computes the mean after the last one arrives. A bucket of n elements from T trainers costs n*(T-1) additions
// and n multiplications. With one trainer, it costs nothing.
type average struct{ trainers int }

func newAverage(_ noSettings, env sdk.ServerEnv) (sdk.ElementwiseServer, error) {
	return &average{env.Trainers}, nil
}

// Combine implements sdk.ElementwiseServer: it adds the gradients.
func (s *average) Combine(sum []float32, others [][]float32) {
	for _, other := range others {
		vec.Add(sum, other)
	}
}

// Finish implements sdk.ElementwiseServer: it divides by the number of trainers.
func (s *average) Finish(sum []float32) {
	if s.trainers > 1 {
		vec.Scale(1/float32(s.trainers), sum)
	}
}
