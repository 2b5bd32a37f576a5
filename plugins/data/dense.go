package data

import (
	"fmt"
	"math"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
)

// DenseSettings are the settings of the dense data.
type DenseSettings struct {
	Batches      int    `json:"batches" doc:"batches of each trainer, of the run's batch size"`
	Features     int    `json:"features" doc:"numbers of a sample"`
	Distribution string `json:"distribution" doc:"normal: of mean 0 and variance 1; uniform: from -1 to below 1"`
}

// DefaultDense are the settings of the original's batch update.
var DefaultDense = DenseSettings{Batches: 4, Features: 100, Distribution: "normal"}

type dense struct {
	settings DenseSettings
	seed     uint64
	samples  int
}

// NewDense generates samples of numbers, all with target 0, from stream 2^32+6 of
// package splitmix. Uniform numbers are as its Uniform gives them. Normal ones come in
// pairs, r*cos(2πv) and r*sin(2πv) with r = sqrt(-2 ln u), by the Box-Muller transform
// (Box and Muller, 1958), where u = (a+1)/2^53 and v = b/2^53 for the top 53 bits a and b
// of the stream's next two values.
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
		return nil, fmt.Errorf("%.0f samples of %d features are too many: at most %d numbers can be generated", samples, s.Features, maxNumbers)
	}
	return &dense{settings: s, seed: env.Seed, samples: int(samples)}, nil
}

func (d *dense) Load() (*sdk.Samples, error) {
	samples := &sdk.Samples{Batch: sdk.Batch{
		Features: make([]float32, d.samples*d.settings.Features),
		Targets:  make([]int64, d.samples),
	}}
	samples.Origin = func(int, int) string { return fmt.Sprintf("dense data with features %d", d.settings.Features) }
	if d.settings.Distribution == "uniform" {
		splitmix.Uniform(d.seed, featureStream, samples.Features, 1)
	} else {
		normal(splitmix.New(d.seed, featureStream), samples.Features)
	}
	return samples, nil
}

// normal fills dst as NewDense says.
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
