package data

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/batches"
	"github.com/psbench/psbench/sdk/proto"
)

var errNoSamples = errors.New("the data holds no samples")

// dealt says how many batches of an epoch each trainer runs. Batch i is dealt to trainer
// i modulo their number; then, since connected trainers must run equally many, every
// trainer of a set keeps only the first ones, as many as the poorest of the set.
func dealt(batches int, sets [][]int) (counts []int, dropped int, err error) {
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
			return nil, 0, fmt.Errorf("too few batches (%d) for %d trainers: each needs at least one; lower the batch size or the count of trainers", batches, trainers)
		}
		for _, t := range set {
			dropped += counts[t] - least
			counts[t] = least
		}
	}
	return counts, dropped, nil
}

// dealBatches deals batches in memory.
func dealBatches(batches []sdk.Batch, sets [][]int) (shares [][]sdk.Batch, dropped int, err error) {
	counts, dropped, err := dealt(len(batches), sets)
	if err != nil {
		return nil, 0, err
	}
	shares = dealAll(batches, len(counts))
	for t, n := range counts {
		shares[t] = shares[t][:n]
	}
	return shares, dropped, nil
}

// dealAll deals round-robin and drops nothing.
func dealAll(batches []sdk.Batch, trainers int) [][]sdk.Batch {
	shares := make([][]sdk.Batch, trainers)
	for i, b := range batches {
		shares[i%trainers] = append(shares[i%trainers], b)
	}
	return shares
}

// describeShare is what the core learns of a share in memory.
func describeShare(share []sdk.Batch, in *proto.Inputs) *proto.Share {
	s := &proto.Share{Batches: int64(len(share))}
	for i := range share {
		s.Samples += int64(share[i].Size())
		s.DistinctRows = max(s.DistinctRows, int64(batches.Distinct(&share[i], in.GetTables())))
	}
	makeRoom(s, share)
	return s
}

// makeRoom counts batches among those for which there must be room.
func makeRoom(s *proto.Share, batches []sdk.Batch) {
	for i := range batches {
		s.BatchSamples = max(s.BatchSamples, int64(batches[i].Size()))
		s.BatchIndices = max(s.BatchIndices, int64(len(batches[i].Indices)))
	}
}

func setsFromProto(sets []*proto.TrainerSet) [][]int {
	var out [][]int
	for _, s := range sets {
		var set []int
		for _, t := range s.GetTrainers() {
			set = append(set, int(t))
		}
		out = append(out, set)
	}
	return out
}
