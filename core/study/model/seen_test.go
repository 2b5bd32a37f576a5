package model

import (
	"math"
	"testing"

	"github.com/psbench/psbench/core/record/result"
)

func TestSeenOf(t *testing.T) {
	data := result.Partition{Samples: 81, Batches: 6, BatchesPerTrainer: []int{1, 1, 1, 1},
		SamplesPerTrainer: []int{14, 14, 14, 14}, DroppedBatches: 2}
	for name, c := range map[string]struct {
		data          result.Partition
		iterations    int
		dropped, late float64
	}{
		"dropped":             {data, 1, 25. / 81, 0},
		"dropped, two epochs": {data, 2, 25. / 81, 0},
		"all": {result.Partition{Samples: 40, Batches: 4, BatchesPerTrainer: []int{2, 2},
			SamplesPerTrainer: []int{20, 20}}, 2, 0, 0},
		"half an epoch": {result.Partition{Samples: 40, Batches: 4, BatchesPerTrainer: []int{2, 2},
			SamplesPerTrainer: []int{20, 20}}, 1, 0, 0.5},
		"no data":             {result.Partition{}, 1, 0, 0},
		"of an older psbench": {result.Partition{Samples: 40, BatchesPerTrainer: []int{2, 2}}, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := &result.Result{Data: c.data, Losses: make([][]float64, len(c.data.BatchesPerTrainer))}
			for i := range r.Losses {
				r.Losses[i] = make([]float64, c.iterations)
			}
			if got := seenOf(r); math.Abs(got.DroppedShare-c.dropped)+math.Abs(got.LateShare-c.late) > 1e-12 {
				t.Errorf("%s: %+v", name, got)
			}
		})
	}
}
