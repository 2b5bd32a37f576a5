package sweep

import (
	"encoding/json"
	"math"
	"time"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
)

// What a run of psbench's own parts takes on two cores, roughly: docs/performance.md has what they
// take on a known machine. A sweep corrects this by its first runs.
const (
	startNS     = 400e6 // of the run
	rankNS      = 100e6 // of each of its processes
	iterationNS = 0.3e6 // without computing
	parameterNS = 2.5   // of each trainer in an iteration: its gradient, reduction and update
	multiplyNS  = 0.1   // of each parameter and sample: a forward and a backward pass
)

// expected is about how long a run takes: 0 where only a run can tell.
func expected(exp *config.Experiment) time.Duration {
	iteration := iterationTime(exp)
	measured, known := passTime(exp, exp.Length, iteration)
	warmUp, alsoKnown := passTime(exp, exp.WarmUp, iteration)
	if !known || !alsoKnown {
		return 0
	}
	const longest = 100 * 365 * 24 * time.Hour // fits
	return time.Duration(min(startNS+rankNS*float64(exp.World.Master())+measured+warmUp, float64(longest)))
}

// passTime is that of a pass in ns, whose iterations take so long, as far as that is known.
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

// iterationTime is about that of one iteration in ns, 0 for a model that is not psbench's own.
func iterationTime(exp *config.Experiment) float64 {
	parameters, known := parametersOf(exp)
	if !known {
		return 0
	}
	each := parameters * (parameterNS + multiplyNS*float64(exp.BatchSize))
	return iterationNS + each*float64(len(exp.World.TrainerRanks()))
}

// iterationsOf are those of a trainer in an epoch, of data whose settings say how much it is.
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

// parametersOf are those of a model that are reduced, where its settings tell.
func parametersOf(exp *config.Experiment) (n float64, known bool) {
	var s struct {
		Sizes  []float64 `json:"sizes"` // of mlp
		Rows   float64   `json:"num_embeddings"`
		Dim    float64   `json:"embedding_dim"`
		In     float64   `json:"dense_input_size"`
		Out    float64   `json:"dense_output_size"`
		Layers float64   `json:"dense_layers_count"`
		Bottom []float64 `json:"bottom_layers"` // of dlrm
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
