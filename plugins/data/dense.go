package data

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
)

// DenseSettings are the settings of the dense data.
type DenseSettings struct {
	Batches      int    `json:"batches" doc:"batches of each trainer, of the run's batch size"`
	Features     int    `json:"features" doc:"numbers of a sample"`
	Distribution string `json:"distribution" doc:"normal: of mean 0 and variance 1; uniform: from -1 to below 1"`
	Targets      int    `json:"targets" doc:"numbers that are the target of a sample, each a sum of its features with weights, as the criterion takes them; 0: the target is class 0"`
}

// DefaultDense are the default settings, taken from the original's batch update.
var DefaultDense = DenseSettings{Batches: 4, Features: 100, Distribution: "normal"}

type dense struct {
	settings DenseSettings
	seed     uint64
	samples  int
	wanted   sdk.TargetKind
}

// NewDense generates samples of numbers from stream 2^32+6 of package splitmix. The stream's Uniform gives the
// uniform numbers. Normal numbers come in pairs, r*cos(2πv) and r*sin(2πv) with r = sqrt(-2 ln u), by the
// Box-Muller transform (Box and Muller, 1958). Here u = (a+1)/2^53 and v = b/2^53 for the top 53 bits a and b of
// the stream's next two values.
//
// If the criterion takes classes, every target is class 0. If the criterion takes numbers, target k is the weighted
// sum of the features, divided by sqrt(features). The weights are the normal numbers k*features to (k+1)*features-1
// of stream 2^32+10. If the criterion takes numbers from 0 to 1, the target is the sigmoid of this value. If it
// takes probabilities, the targets are the softmax of all values.
//
// There are batches for every trainer. Counts below 1 and other distributions are errors.
func NewDense(s DenseSettings, env sdk.DataEnv) (sdk.Data, error) {
	if err := checkCounts([]count{{"batches", s.Batches}, {"features", s.Features}}); err != nil {
		return nil, err
	}
	if s.Distribution != "normal" && s.Distribution != "uniform" {
		return nil, fmt.Errorf("setting distribution is %s but must be normal or uniform", quote.String(s.Distribution))
	}
	samples := float64(s.Batches) * float64(max(1, env.Trainers)) * float64(max(1, env.BatchSize))
	if samples*float64(s.Features) > maxNumbers {
		return nil, fmt.Errorf("%.0f samples of %d features are too many: at most %d numbers can be generated", samples,
			s.Features, maxNumbers)
	}
	if err := checkDenseTargets(s, samples, env); err != nil {
		return nil, err
	}
	return &dense{settings: s, seed: env.Seed, samples: int(samples), wanted: env.Wanted}, nil
}

func checkDenseTargets(s DenseSettings, samples float64, env sdk.DataEnv) error {
	kind, least := env.Wanted.OrClasses(), 1
	switch {
	case s.Targets == 0:
		return nil
	case kind == sdk.ClassTargets:
		return fmt.Errorf("setting targets is %d but criterion %s takes %s, for which it must be 0", s.Targets,
			env.Criterion, kind.Takes())
	case kind == sdk.ProbabilityTargets:
		least = 2
	}
	if s.Targets < least || float64(s.Targets)*max(samples, float64(s.Features)) > maxNumbers {
		return fmt.Errorf("setting targets is %d but must be 0 or from %d to %.0f", s.Targets, least,
			maxNumbers/max(samples, float64(s.Features)))
	}
	return nil
}

func (d *dense) Load() (*sdk.Samples, error) {
	samples := &sdk.Samples{Batch: sdk.Batch{
		Features: make([]float32, d.samples*d.settings.Features),
	}}
	samples.Origin = func(int, int) string { return fmt.Sprintf("dense data with features %d", d.settings.Features) }
	if d.settings.Distribution == "uniform" {
		splitmix.Uniform(d.seed, featureStream, samples.Features, 1)
	} else {
		normal(splitmix.New(d.seed, featureStream), samples.Features)
	}
	if d.settings.Targets == 0 {
		samples.Targets = make([]int64, d.samples)
		return samples, nil
	}
	samples.TargetWidth = d.settings.Targets
	samples.FloatTargets = d.targets(samples.Features)
	return samples, nil
}

// targets computes targets that depend on the features.
func (d *dense) targets(features []float32) []float32 {
	n, width := d.settings.Features, d.settings.Targets
	weights := make([]float32, width*n)
	normal(splitmix.New(d.seed, denseTargetStream), weights)
	out := make([]float32, d.samples*width)
	for i := range out {
		x, w := features[i/width*n:(i/width+1)*n], weights[i%width*n:(i%width+1)*n]
		sum := 0.0
		for j, v := range x {
			sum += float64(v) * float64(w[j])
		}
		out[i] = float32(sum / math.Sqrt(float64(n)))
	}
	switch d.wanted {
	case sdk.ShareTargets:
		for i, v := range out {
			out[i] = float32(1 / (1 + math.Exp(-float64(v))))
		}
	case sdk.ProbabilityTargets:
		for i := 0; i < len(out); i += width {
			softmax(out[i : i+width])
		}
	}
	return out
}

// softmax computes in float64, so that the data is the same on every machine.
func softmax(row []float32) {
	top, sum := float64(slices.Max(row)), 0.0
	for _, v := range row {
		sum += math.Exp(float64(v) - top)
	}
	for i, v := range row {
		row[i] = float32(math.Exp(float64(v)-top) / sum)
	}
}

// normal fills dst with normal numbers, as the comment of NewDense defines.
func normal(stream *splitmix.Stream, dst []float32) {
	for i := 0; i < len(dst); i += 2 {
		u, v := float64(stream.Uint64()>>11+1)/(1<<53), float64(stream.Uint64()>>11)/(1<<53)
		r := math.Sqrt(-2 * math.Log(u))
		sin, cos := math.Sincos(2 * math.Pi * v)
		dst[i] = float32(r * cos)
		if i+1 < len(dst) {
			dst[i+1] = float32(r * sin)
		}
	}
}
