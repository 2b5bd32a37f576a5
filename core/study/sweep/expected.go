package sweep

import (
	"encoding/json"
	"math"
	"time"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
)

// Rough costs of psbench's own parts on two cores, in ns. docs/performance.md has measurements of a known machine. Once
// the first runs of a sweep are done, measured times correct these estimates.
const (
	startNS     = 400e6 // per run
	rankNS      = 100e6 // per process
	iterationNS = 0.3e6 // per iteration, without compute
	parameterNS = 2.5   // per parameter, trainer and iteration: gradient, reduction and update
	multiplyNS  = 0.1   // per parameter and sample: a forward and a backward pass
)

// expected estimates how long a run takes. It returns 0 if no estimate is possible before a run.
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

// passTime returns the duration of a pass in ns. iteration is the duration of one iteration in ns. known is false if no
// estimate is possible.
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

// iterationTime estimates one iteration in ns. It returns 0 if the model is not one of psbench's own.
func iterationTime(exp *config.Experiment) float64 {
	parameters, known := parametersOf(exp)
	if !known {
		return 0
	}
	each := parameters * (parameterNS + multiplyNS*float64(exp.BatchSize))
	return iterationNS + each*float64(len(exp.World.TrainerRanks()))
}

// iterationsOf returns the number of iterations per epoch of a trainer. known is false if the settings of the data do
// not give it.
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

// parametersOf returns the number of model parameters that are reduced. known is false if the model's settings do not
// give it.
func parametersOf(exp *config.Experiment) (n float64, known bool) {
	var s struct {
		Sizes  []float64 `json:"sizes"` // layer sizes of an mlp
		Rows   float64   `json:"num_embeddings"`
		Dim    float64   `json:"embedding_dim"`
		In     float64   `json:"dense_input_size"`
		Out    float64   `json:"dense_output_size"`
		Layers float64   `json:"dense_layers_count"`
		Bottom []float64 `json:"bottom_layers"` // layer sizes of a dlrm
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
