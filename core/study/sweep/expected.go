package sweep

import (
	"encoding/json"
	"math"
	"time"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
)

// Rough costs of psbench's own parts on two cores, in ns. docs/performance.md has measurements of a known machine. A
// sweep corrects its estimates by its first runs.
const (
	startNS     = 400e6 // per run
	rankNS      = 100e6 // per process
	iterationNS = 0.3e6 // per iteration, without computing
	parameterNS = 2.5   // per parameter, trainer and iteration: gradient, reduction and update
	multiplyNS  = 0.1   // per parameter and sample: a forward and a backward pass
)

// expected estimates how long a run takes. It returns 0 if only a run can tell.
func expected(exp *config.Experiment) time.Duration {
	iteration := iterationTime(exp)
	measured, known := passTime(exp, exp.Length, iteration)
	warmUp, alsoKnown := passTime(exp, exp.WarmUp, iteration)
	if !known || !alsoKnown {
		return 0
	}
	const longest = 100 * 365 * 24 * time.Hour // fits into a Duration
	return time.Duration(min(startNS+rankNS*float64(exp.World.Master())+measured+warmUp, float64(longest)))
}

// passTime returns the duration of a pass in ns, given the duration of an iteration. known is false if it cannot be
// estimated.
func passTime(exp *config.Experiment, l stop.Length, iteration float64) (ns float64, known bool) {
	iterations, known := float64(l.Iterations), true
	switch {
	case l == stop.Length{}:
		return 0, true
	case l.Time > 0:
		return float64(l.Time), true
	case l.Epochs > 0:
		iterations, known = iterationsOf(exp)
		iterations = max(float64(l.Epochs)*iterations, float64(l.Least))
	}
	return iterations * iteration, known && iteration > 0
}

// iterationTime estimates one iteration in ns. It returns 0 for a model that is not psbench's own.
func iterationTime(exp *config.Experiment) float64 {
	parameters, known := parametersOf(exp)
	if !known {
		return 0
	}
	each := parameters * (parameterNS + multiplyNS*float64(exp.BatchSize))
	return iterationNS + each*float64(len(exp.World.TrainerRanks()))
}

// iterationsOf returns a trainer's iterations per epoch. known is false if the settings of the data do not tell.
func iterationsOf(exp *config.Experiment) (n float64, known bool) {
	var s struct {
		Samples float64 `json:"sample_count"`
		Batches float64 `json:"batches"`
	}
	if json.Unmarshal(exp.Parts[sdk.KindData].Settings, &s) != nil {
		return 0, false
	}
	if s.Samples > 0 {
		s.Batches = math.Ceil(math.Ceil(s.Samples/float64(exp.BatchSize)) / float64(len(exp.World.TrainerRanks())))
	}
	return s.Batches, s.Batches > 0
}

// parametersOf returns how many parameters of the model are reduced. known is false if its settings do not tell.
func parametersOf(exp *config.Experiment) (n float64, known bool) {
	var s struct {
		Sizes  []float64 `json:"sizes"` // layers of an mlp
		Rows   float64   `json:"num_embeddings"`
		Dim    float64   `json:"embedding_dim"`
		In     float64   `json:"dense_input_size"`
		Out    float64   `json:"dense_output_size"`
		Layers float64   `json:"dense_layers_count"`
		Bottom []float64 `json:"bottom_layers"` // layers of a dlrm
		Top    []float64 `json:"top_layers"`
	}
	if json.Unmarshal(exp.Parts[sdk.KindModel].Settings, &s) != nil {
		return 0, false
	}
	n = s.Rows*s.Dim + s.Layers*s.In*s.Out
	for _, layers := range [][]float64{s.Sizes, s.Bottom, s.Top} {
		for i := 1; i < len(layers); i++ {
			n += layers[i-1] * layers[i]
		}
	}
	return n, n > 0
}
