package server

import (
	"slices"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// A push in chunks counts as arrived with its last chunk.
func TestChunksOfARound(t *testing.T) {
	rec := &sdk.Recorder{}
	b := &bucket{index: 4, trainers: 2, straggler: rec.Series("s", "straggler"), whole: rec.Series("w", "whole")}
	arrive := func(trainer, chunk int, atNS int64) *round {
		return b.noteArrival(&comm.Arrival{Batch: 9, Bucket: 4, Trainer: trainer, Chunk: chunk, Chunks: 2, AtNS: atNS})
	}
	arrive(1, 0, 100)
	if missing, _ := b.overdue(150, 60); missing != nil {
		t.Errorf("within the time %v are missing", missing)
	}
	if missing, batch := b.overdue(160, 60); !slices.Equal(missing, []int{0, 1}) || batch != 9 {
		t.Errorf("with half of a push there, %v are missing of batch %d", missing, batch)
	}
	arrive(1, 1, 110)
	arrive(0, 0, 130)
	if missing, _ := b.overdue(160, 60); !slices.Equal(missing, []int{0}) {
		t.Errorf("with one push there, %v are missing", missing)
	}
	r := arrive(0, 1, 170)
	if missing, _ := b.overdue(1000, 60); missing != nil || r.complete != 2 {
		t.Errorf("with both pushes there, %v are missing, %d are complete", missing, r.complete)
	}
	if b.noteReduced(r, 180, 3) || !b.noteReduced(r, 175, 4) || r.reducingNS != 175 || r.spentNS != 7 {
		t.Errorf("two chunks were reduced from %d on for %d ns", r.reducingNS, r.spentNS)
	}
	b.noteAnswers(r, 2)
	b.noteAnswers(r, 2)
	var got []sdk.Measurement
	for _, s := range rec.All().Series {
		s.Each(func(m sdk.Measurement) { got = append(got, m) })
	}
	if len(got) != 2 || got[0] != (sdk.Measurement{Key: sdk.Key{A: 9, B: 4}, StartNS: 110, DurationNS: 60}) ||
		got[1].Key != (sdk.Key{A: 9, B: 4}) || got[1].StartNS != 110 || r.open {
		t.Errorf("measured %v; the round is open: %v", got, r.open)
	}
}

// A server that takes pushes itself may wait for any trainer. The wait counts from the oldest
// unanswered push. Trainers are overdue if they have not pushed since then and have batches left.
func TestOverduePushes(t *testing.T) {
	role := &Role{trainers: make([]process.Peer, 4)}
	b := &bucket{trainers: 4, asynchronous: true}
	b.slots = role.newSlots(b)
	arrive := func(trainer int, batch, atNS int64) sdk.Push {
		return b.take(&comm.Arrival{Batch: batch, Trainer: trainer, Chunks: 1, AtNS: atNS})
	}
	answer := func(p sdk.Push) {
		if _, err := role.beginAnswer(b, p.Trainer, p, new(tensor.Gradient)); err != nil {
			t.Error(err)
		}
	}
	first, second := arrive(0, 7, 100), arrive(1, 7, 110)
	answer(first)
	answer(second)
	late := arrive(2, 7, 5000)
	if missing, _ := b.overdue(5010, 60); missing != nil {
		t.Errorf("a push of 10 ns ago has %v overdue", missing)
	}
	next := arrive(0, 8, 5020)
	if missing, batch := b.overdue(5060, 60); !slices.Equal(missing, []int{1, 3}) || batch != 7 {
		t.Errorf("a push of 60 ns ago has %v overdue since batch %d", missing, batch)
	}
	b.expect([]int64{9, 7, 9, 9})
	if missing, batch := b.overdue(5060, 60); !slices.Equal(missing, []int{3}) || batch != 7 {
		t.Errorf("without trainer 1, whose last batch is 7, %v are overdue since batch %d", missing, batch)
	}
	answer(late)
	if missing, _ := b.overdue(5079, 60); missing != nil {
		t.Errorf("a push of 59 ns ago has %v overdue", missing)
	}
	arrive(3, 7, 5081)
	answer(arrive(2, 8, 5083))
	if missing, batch := b.overdue(9000, 60); missing != nil {
		t.Errorf("where all have pushed since or have no batches left, %v are overdue since batch %d", missing, batch)
	}
	answer(next)
	if missing, batch := b.overdue(9000, 60); !slices.Equal(missing, []int{0}) || batch != 7 {
		t.Errorf("with an answer that trainer 0 has not pushed after, %v are overdue since batch %d", missing, batch)
	}
	b.reset()
	if arrive(1, 0, 9100); b.slots[1].last <= 7 {
		t.Error("how many batches a trainer has is that of the pass before")
	}
}
