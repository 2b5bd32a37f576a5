package data

import (
	"fmt"

	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
)

// DummySettings are the settings of the dummy data.
type DummySettings struct {
	MaxVal             int `json:"max_val" doc:"indices and targets lie from 0 to max_val-1"`
	SampleCount        int `json:"sample_count" doc:"samples"`
	SampleLength       int `json:"sample_length" doc:"indices of a sample"`
	SparsityPercentage int `json:"sparsity_percentage" doc:"share of the values that never occur as an index, in percent"`
}

// DefaultDummy are the default settings, taken from the original's DummyData.
var DefaultDummy = DummySettings{MaxVal: 100, SampleCount: 100, SampleLength: 100, SparsityPercentage: 20}

type dummy struct {
	settings DummySettings
	seed     uint64
}

// NewDummy generates samples from the run's seed, with the streams of package splitmix:
//
//   - stream 2^32 chooses the values that may occur: the first
//     kept = max_val*(100-sparsity_percentage)/100 (rounded down) elements of a
//     Fisher-Yates shuffle of 0..max_val-1, where step i swaps element i with
//     element i + IntN(max_val-i);
//   - stream 2^32+1 gives the indices, sample by sample: each is element
//     IntN(kept) of those values;
//   - stream 2^32+2 gives the targets: each is IntN(max_val).
//
// Counts below 1, a sparsity outside 0 to 100 and a sparsity that keeps no value are errors.
func NewDummy(s DummySettings, env sdk.DataEnv) (sdk.Data, error) {
	if err := checkCounts([]count{{"max_val", s.MaxVal}, {"sample_count", s.SampleCount},
		{"sample_length", s.SampleLength}}); err != nil {
		return nil, err
	}
	if s.SparsityPercentage < 0 || s.SparsityPercentage > 100 {
		return nil, fmt.Errorf("setting sparsity_percentage is %d but must be from 0 to 100", s.SparsityPercentage)
	}
	if s.kept() == 0 {
		return nil,
			fmt.Errorf("setting sparsity_percentage is %d, which keeps none of the %d values of max_val: lower it or raise max_val",
				s.SparsityPercentage, s.MaxVal)
	}
	if total := s.SampleCount * s.SampleLength; total > maxNumbers {
		return nil, fmt.Errorf(
			"sample_count %d times sample_length %d makes %d indices but at most %d can be generated",
			s.SampleCount, s.SampleLength, total, maxNumbers)
	}
	return &dummy{settings: s, seed: env.Seed}, nil
}

func (s DummySettings) kept() int { return s.MaxVal * (100 - s.SparsityPercentage) / 100 }

func (d *dummy) Load() (*sdk.Samples, error) {
	s := d.settings
	values := d.values()
	index, target := splitmix.New(d.seed, indexStream), splitmix.New(d.seed, targetStream)
	samples := &sdk.Samples{Origin: func(int, int) string {
		return fmt.Sprintf("dummy data with max_val %d", s.MaxVal)
	}}
	bag := make([]int64, s.SampleLength)
	for range s.SampleCount {
		for i := range bag {
			bag[i] = values[index.IntN(len(values))]
		}
		samples.Append(bag, int64(target.IntN(s.MaxVal)))
	}
	return samples, nil
}

// values returns the values that may occur as an index.
func (d *dummy) values() []int64 {
	stream := splitmix.New(d.seed, valueStream)
	all := make([]int64, d.settings.MaxVal)
	for i := range all {
		all[i] = int64(i)
	}
	kept := d.settings.kept()
	for i := range kept {
		j := i + stream.IntN(len(all)-i)
		all[i], all[j] = all[j], all[i]
	}
	return all[:kept]
}
