package sdk

import (
	"slices"
	"testing"

	"github.com/psbench/psbench/comm"
)

// A push that comes in chunks is there with its last one.
func TestChunksOfARound(t *testing.T) {
	rec := &Recorder{}
	l := &location{bucket: 4, trainers: 2, straggler: rec.Series("s", "straggler"), whole: rec.Series("w", "whole")}
	arrive := func(trainer, chunk int, atNS int64) (*round, bool) {
		return l.arrive(&comm.Arrival{Batch: 9, Bucket: 4, Trainer: trainer, Chunk: chunk, Chunks: 2, AtNS: atNS})
	}
	arrive(1, 0, 100)
	if missing, _ := l.overdue(150, 60); missing != nil {
		t.Errorf("within the time %v are missing", missing)
	}
	if missing, batch := l.overdue(160, 60); !slices.Equal(missing, []int{0, 1}) || batch != 9 {
		t.Errorf("with half of a push there, %v are missing of batch %d", missing, batch)
	}
	arrive(1, 1, 110)
	arrive(0, 0, 130)
	if missing, _ := l.overdue(160, 60); !slices.Equal(missing, []int{0}) {
		t.Errorf("with one push there, %v are missing", missing)
	}
	r, last := arrive(0, 1, 170)
	if missing, _ := l.overdue(1000, 60); missing != nil || !last {
		t.Errorf("with both pushes there, %v are missing, last is %v", missing, last)
	}
	if l.reduce(r, 180, 3) || !l.reduce(r, 175, 4) || r.reducingNS != 175 || r.spentNS != 7 {
		t.Errorf("two chunks were reduced from %d on for %d ns", r.reducingNS, r.spentNS)
	}
	l.answer(r, 2)
	l.answer(r, 2)
	var got []Measurement
	for _, s := range rec.All() {
		s.Each(func(m Measurement) { got = append(got, m) })
	}
	if len(got) != 2 || got[0] != (Measurement{Key{9, 4}, 110, 60}) || got[1].Key != (Key{9, 4}) || got[1].StartNS != 110 || r.open {
		t.Errorf("measured %v; the round is open: %v", got, r.open)
	}
}
