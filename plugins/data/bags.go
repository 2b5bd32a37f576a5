package data

import (
	"fmt"
	"math"

	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
)

// BagsSettings are the settings of the bags data.
type BagsSettings struct {
	Batches       int `json:"batches" doc:"batches of each trainer in an epoch"`
	NumEmbeddings int `json:"num_embeddings" doc:"indices lie from 0 to num_embeddings-1"`
	Classes       int `json:"classes" doc:"targets lie from 0 to classes-1"`
	TargetsPerBag int `json:"targets_per_bag" doc:"targets of a bag: rows that the model makes of its columns; 0: as many as it makes"`
	MinIndices    int `json:"min_indices" doc:"indices of a batch at least"`
	MaxIndices    int `json:"max_indices" doc:"indices of a batch at most"`
	MaxBag        int `json:"max_bag" doc:"indices of a bag at most"`
}

// DefaultBags are the default settings, taken from the original.
var DefaultBags = BagsSettings{
	Batches: 10, NumEmbeddings: 300, Classes: 8, MinIndices: 20, MaxIndices: 50, MaxBag: 10,
}

type bags struct {
	settings BagsSettings
	seed     uint64
	batches  int // number of batches for all trainers together
}

// NewBags generates batches of bags from the run's seed, with the streams of package
// splitmix:
//
//   - stream 2^32+3 gives the sizes, batch by batch: first the indices of the batch,
//     min_indices + IntN(max_indices-min_indices+1), then for each bag
//     1 + IntN(max_bag); the end of the batch cuts the last bag short;
//   - stream 2^32+4 gives the indices, bag by bag: each is IntN(num_embeddings);
//   - stream 2^32+5 gives the targets, bag by bag: each is IntN(classes).
//
// There are batches for every trainer. Counts below 1 and min_indices above max_indices
// are errors.
func NewBags(s BagsSettings, env sdk.DataEnv) (sdk.Data, error) {
	if err := checkCounts([]count{
		{"batches", s.Batches}, {"num_embeddings", s.NumEmbeddings}, {"classes", s.Classes},
		{"targets_per_bag", max(1, s.TargetsPerBag)}, {"min_indices", s.MinIndices}, {"max_indices", s.MaxIndices},
		{"max_bag", s.MaxBag},
	}); err != nil {
		return nil, err
	}
	if s.MinIndices > s.MaxIndices {
		return nil, fmt.Errorf("setting min_indices is %d but must be at most max_indices, which is %d", s.MinIndices,
			s.MaxIndices)
	}
	batches := s.Batches * max(1, env.Trainers)
	if most := float64(batches) * float64(s.MaxIndices) * float64(max(1, s.TargetsPerBag)); most > maxNumbers {
		return nil, fmt.Errorf(
			"%d batches of up to %d indices with targets_per_bag %d are too many: at most %d numbers can be generated",
			batches, s.MaxIndices, max(1, s.TargetsPerBag), maxNumbers)
	}
	if s.TargetsPerBag < 0 {
		return nil, fmt.Errorf("setting targets_per_bag is %d but must be from 0 to %d", s.TargetsPerBag, math.MaxInt32)
	}
	return &bags{settings: s, seed: env.Seed, batches: batches}, nil
}

var _ sdk.FittedData = (*bags)(nil)

// Fit implements sdk.FittedData: it records how many output rows the model computes for a bag.
func (d *bags) Fit(in sdk.InputSpec) {
	if d.settings.TargetsPerBag == 0 {
		d.settings.TargetsPerBag = max(1, in.Targets)
	}
}

func (d *bags) Load() (*sdk.Samples, error) {
	s := d.settings
	size, index, target := splitmix.New(d.seed, bagSizeStream), splitmix.New(d.seed,
		bagIndexStream), splitmix.New(d.seed, bagTargetStream)
	samples := &sdk.Samples{Batch: sdk.Batch{Offsets: []int64{0}}, Origin: func(int, int) string {
		return fmt.Sprintf("bags data with num_embeddings %d, classes %d and targets_per_bag %d", s.NumEmbeddings,
			s.Classes, s.TargetsPerBag)
	}}
	for range d.batches {
		bagsOfBatch := 0
		for left := s.MinIndices + size.IntN(s.MaxIndices-s.MinIndices+1); left > 0; bagsOfBatch++ {
			n := min(1+size.IntN(s.MaxBag), left)
			left -= n
			for range n {
				samples.Indices = append(samples.Indices, int64(index.IntN(s.NumEmbeddings)))
			}
			samples.Offsets = append(samples.Offsets, int64(len(samples.Indices)))
			for range max(1, s.TargetsPerBag) {
				samples.Targets = append(samples.Targets, int64(target.IntN(s.Classes)))
			}
		}
		samples.Batches = append(samples.Batches, bagsOfBatch)
	}
	return samples, nil
}

// count is a setting that counts something.
type count struct {
	name  string
	value int
}

// checkCounts returns an error that names the first setting that is out of range.
func checkCounts(counts []count) error {
	for _, c := range counts {
		if c.value < 1 || c.value > math.MaxInt32 {
			return fmt.Errorf("setting %s is %d but must be from 1 to %d", c.name, c.value, math.MaxInt32)
		}
	}
	return nil
}
