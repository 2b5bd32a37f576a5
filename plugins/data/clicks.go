package data

import (
	"fmt"

	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
)

// ClicksSettings are the settings of the clicks data.
type ClicksSettings struct {
	Batches int `json:"batches" doc:"batches of each trainer, of the run's batch size"`
}

// DefaultClicks makes an epoch of a few seconds.
var DefaultClicks = ClicksSettings{Batches: 10}

type clicks struct {
	settings ClicksSettings
	seed     uint64
	samples  int
	in       sdk.InputSpec
}

var _ sdk.FittedData = (*clicks)(nil)

// NewClicks generates samples for measuring speed. Each sample has as many numbers as the model takes, and one
// index for each table. Every row of a table is equally likely, and the class is random. The values come from these
// streams of package splitmix:
//
//   - stream 2^32+7 gives the numbers, from -1 to below 1, as its Uniform does;
//   - stream 2^32+8 gives the indices, sample by sample: each is IntN(rows of its table);
//   - stream 2^32+9 gives the classes: each is IntN(classes).
//
// There are batches for every trainer. Batches below 1 are an error.
func NewClicks(s ClicksSettings, env sdk.DataEnv) (sdk.Data, error) {
	if err := checkCounts([]count{{"batches", s.Batches}}); err != nil {
		return nil, err
	}
	samples := float64(s.Batches) * float64(max(1, env.Trainers)) * float64(max(1, env.BatchSize))
	if samples > maxNumbers {
		return nil, fmt.Errorf("%.0f samples are too many: at most %d numbers can be generated", samples, maxNumbers)
	}
	return &clicks{settings: s, seed: env.Seed, samples: int(samples)}, nil
}

// Fit implements sdk.FittedData.
func (d *clicks) Fit(in sdk.InputSpec) { d.in = in }

func (d *clicks) Load() (*sdk.Samples, error) {
	tables := d.in.Tables
	if len(tables) == 0 {
		return nil,
			fmt.Errorf("clicks data has an index for each of several tables but the model has none: choose a model as dlrm, or other data")
	}
	if numbers := float64(d.samples) * float64(len(tables)+d.in.Features); numbers > maxNumbers {
		return nil, fmt.Errorf(
			"%d samples of %d numbers and %d indices are too many: at most %d numbers can be generated",
			d.samples, d.in.Features, len(tables), maxNumbers)
	}
	samples := &sdk.Samples{Batch: sdk.Batch{
		Features: make([]float32, d.samples*d.in.Features),
		Indices:  make([]int64, 0, d.samples*len(tables)),
		Offsets:  make([]int64, 1, d.samples+1),
		Targets:  make([]int64, d.samples),
	}, Origin: func(int, int) string { return "clicks data" }}
	splitmix.Uniform(d.seed, clickFeatureStream, samples.Features, 1)
	index, target := splitmix.New(d.seed, clickIndexStream), splitmix.New(d.seed, clickTargetStream)
	for i := range d.samples {
		for _, rows := range tables {
			samples.Indices = append(samples.Indices, int64(index.IntN(rows)))
		}
		samples.Offsets = append(samples.Offsets, int64(len(samples.Indices)))
		samples.Targets[i] = int64(target.IntN(max(1, d.in.Classes)))
	}
	return samples, nil
}
