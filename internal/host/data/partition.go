package data

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

var errNoSamples = errors.New("the data holds no samples")

// Request says how to divide the data among the trainers.
type Request struct {
	Inputs    sdk.InputSpec // the limits of the model's inputs
	BatchSize int
	Sets      [][]int      // each set holds the trainers that the hook connects
	Part      process.Peer // the companion with the data, if any
}

// countShares returns how many batches of an epoch each trainer runs. Batch i goes to trainer i
// modulo the number of trainers. Connected trainers must run equally many batches, so every trainer
// of a set drops its last batches beyond the set's minimum.
func countShares(batches int, sets [][]int) (counts []int, dropped int, err error) {
	trainers := 0
	for _, set := range sets {
		trainers += len(set)
	}
	counts = make([]int, trainers)
	for t := range counts {
		counts[t] = max(0, (batches-t+trainers-1)/trainers)
	}
	for _, set := range sets {
		least := batches
		for _, t := range set {
			least = min(least, counts[t])
		}
		if least == 0 {
			return nil, 0,
				fmt.Errorf("too few batches (%d) for %d trainers: each needs at least one; lower the batch size or the count of trainers",
					batches, trainers)
		}
		for _, t := range set {
			dropped += counts[t] - least
			counts[t] = least
		}
	}
	return counts, dropped, nil
}

// partitionBatches divides batches in memory among the trainers.
func partitionBatches(batches []sdk.Batch, sets [][]int) (shares [][]sdk.Batch, dropped int, err error) {
	counts, dropped, err := countShares(len(batches), sets)
	if err != nil {
		return nil, 0, err
	}
	shares = roundRobin(batches, len(counts))
	for t, n := range counts {
		shares[t] = shares[t][:n]
	}
	return shares, dropped, nil
}

// roundRobin gives each trainer its batches and drops none.
func roundRobin(batches []sdk.Batch, trainers int) [][]sdk.Batch {
	shares := make([][]sdk.Batch, trainers)
	for i, b := range batches {
		shares[i%trainers] = append(shares[i%trainers], b)
	}
	return shares
}

// describeShare describes, for the core, a share that lies in memory.
func describeShare(share []sdk.Batch, in sdk.InputSpec) batches.Share {
	s := batches.Share{Batches: len(share)}
	for i := range share {
		s.Samples += share[i].Size()
		s.DistinctRows = max(s.DistinctRows, batches.Distinct(&share[i], in.Tables))
	}
	makeRoom(&s, share)
	return s
}

// makeRoom raises the maxima of s so that they cover these batches.
func makeRoom(s *batches.Share, batches []sdk.Batch) {
	for i := range batches {
		s.BatchSamples = max(s.BatchSamples, batches[i].Size())
		s.BatchIndices = max(s.BatchIndices, len(batches[i].Indices))
		s.TargetWidth = batches[i].TargetWidth
	}
}
