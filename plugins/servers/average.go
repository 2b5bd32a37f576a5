package servers

import (
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
)

// average answers with the mean of all trainers' gradients. As the server average it adds
// each gradient as it arrives, so that the additions hide behind stragglers; as average_batch
// it keeps them and does everything once the last one is there. A bucket of n elements from T
// trainers costs n*(T-1) additions and n multiplications; with one trainer, nothing.
type average struct{ trainers int }

func newAverage(_ noSettings, env sdk.ServerEnv) (sdk.ElementwiseServer, error) {
	return &average{env.Trainers}, nil
}

// Combine implements sdk.ElementwiseServer: it adds.
func (s *average) Combine(sum []float32, others [][]float32) {
	for _, other := range others {
		vec.Add(sum, other)
	}
}

// Finish implements sdk.ElementwiseServer: it divides by the count of trainers.
func (s *average) Finish(sum []float32) {
	if s.trainers > 1 {
		vec.Scale(1/float32(s.trainers), sum)
	}
}
