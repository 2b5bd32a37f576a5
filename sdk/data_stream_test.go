package sdk

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// anySets draws sets of trainers, in rank order or not.
func anySets(t *rapid.T) (sets []*proto.TrainerSet, trainers int) {
	ranks := rapid.Permutation([]int32{0, 1, 2, 3, 4}[:rapid.IntRange(1, 5).Draw(t, "trainers")]).Draw(t, "ranks")
	for rest := ranks; len(rest) > 0; {
		n := rapid.IntRange(1, len(rest)).Draw(t, "members")
		sets, rest = append(sets, &proto.TrainerSet{Trainers: rest[:n]}), rest[n:]
	}
	return sets, len(ranks)
}

// A stream is dealt as the same samples in memory are, and in each epoch anew.
func TestStreamsAreDealtAsMemoryIs(t *testing.T) {
	data, trainer := callPair(t)
	rapid.Check(t, func(t *rapid.T) {
		s := anySamples(t)
		s.Batches = nil
		in := &proto.Inputs{Rows: 10, Classes: 10, Features: int64(len(s.Features) / s.Size()), Targets: int64(len(s.Targets) / s.Size())}
		if len(s.Offsets) == 0 {
			in.Rows = 0
		}
		sets, _ := anySets(t)
		req := &proto.DealRequest{Inputs: in, BatchSize: int32(rapid.IntRange(1, 6).Draw(t, "size")), Sets: sets}
		memory := &dataRole{samples: s}
		want, wantErr := memory.dealSamples(req, setsFromProto(sets))
		streamed := &dataRole{station: &station{req: &proto.ConfigureRequest{}}}
		streamed.data = newTape(s)
		got, err := streamed.dealStream(newTape(s), req, setsFromProto(sets))
		if wantErr != nil {
			if err == nil || err.Error() != wantErr.Error() {
				t.Fatalf("the stream gives %v, memory %v", err, wantErr)
			}
			return
		}
		must(t, err)
		if got.Samples != want.Samples || got.Batches != want.Batches || got.Dropped != want.Dropped {
			t.Fatalf("the stream is dealt as %v, memory as %v", got, want)
		}
		for rank, share := range want.GetShares() {
			g := got.GetShares()[rank]
			if g.Batches != share.Batches || g.Samples != share.Samples || g.BatchSamples != share.BatchSamples {
				t.Fatalf("the stream's share %d is %v, that of memory %v", rank, g, share)
			}
			if g.BatchIndices < share.BatchIndices || g.DistinctRows < share.DistinctRows {
				t.Fatalf("the stream's share %d is %v, which has less room than %v", rank, g, share)
			}
			largest := largestOf(g, in)
			sent := make(chan error, 1)
			go func() {
				sent <- errors.Join(streamed.stream.sendEpoch(data, rank), streamed.stream.sendEpoch(data, rank))
			}()
			for range 2 {
				for i, wanted := range memory.shares[rank] {
					var h comm.Header
					must(t, expect(trainer, &h, opBatch))
					var b batchMemory
					must(t, b.read(trainer, &h))
					if d := cmp.Diff(wanted, b.Batch, cmpopts.EquateEmpty()); d != "" {
						t.Fatalf("batch %d of trainer %d: %s", i, rank, d)
					}
					for k, n := range lengthsOf(&b.Batch) {
						if n > largest[k] {
							t.Fatalf("a batch has lists of %v, the largest one of %v", lengthsOf(&b.Batch), largest)
						}
					}
					must(t, b.Close())
				}
			}
			must(t, <-sent)
		}
	})
}

// held is data in memory or a stream, with samples that are held out.
func held(streamed bool, heldOut int) Data {
	s := bags(7)
	s.HeldOut = bags(heldOut)
	if streamed {
		d := newTape(s)
		d.loaded = &Samples{HeldOut: s.HeldOut}
		return d
	}
	return loaded{s}
}

// Samples that are held out go to all trainers in turn, and none is dropped.
func TestHeldOutSamplesAreDealt(t *testing.T) {
	for _, transport := range []comm.Transport{comm.Shm, comm.Unix} {
		for _, streamed := range []bool{false, true} {
			for _, n := range []int{0, 1, 11} {
				r, takers := dataOf(t, held(streamed, n), transport, patience, 3)
				deal, err := r.deal(request(anyInputs, 2, 3))
				must(t, err)
				fetch(t, r, takers, anyInputs, deal)
				if deal.GetHeldOut() != int64(n) || deal.GetSamples() != 7 || deal.GetStreamed() != streamed {
					t.Errorf("%s, streamed %v: the deal is %v", transport, streamed, deal)
				}
				batches := cutEvery(&bags(n).Batch, 2)
				for rank, taker := range takers {
					var want []Batch
					for i := rank; i < len(batches); i += 3 {
						want = append(want, batches[i])
					}
					if d := cmp.Diff(want, taker.HeldOut, cmpopts.EquateEmpty()); d != "" {
						t.Errorf("%s, streamed %v, trainer %d of %d held out: %s", transport, streamed, rank, n, d)
					}
					if got := deal.GetShares()[rank].GetHeldOutBatches(); got != int64(len(want)) {
						t.Errorf("trainer %d gets %d held-out batches but was told of %d", rank, len(want), got)
					}
				}
			}
		}
	}
}

// There is room for held-out batches that are larger than all that are trained on.
func TestHeldOutSamplesGetRoom(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		r, _ := dataOf(t, held(streamed, 20), comm.Unix, patience, 1)
		deal, err := r.deal(request(anyInputs, 20, 1))
		must(t, err)
		s := deal.GetShares()[0]
		if s.GetBatchSamples() != 20 || s.GetBatchIndices() != 30 || s.GetSamples() != 7 || s.GetDistinctRows() > 10 {
			t.Errorf("streamed %v: the share is %v", streamed, s)
		}
	}
}

func TestScanRefuses(t *testing.T) {
	for want, spoil := range map[string]func(d *tape){
		"data tape, Open: the tape is torn": func(d *tape) { d.open = func() error { return errTape } },
		"data tape, Read at sample 6: the tape is torn": func(d *tape) {
			d.read = func(r *tapeReader, b *Batch, n int) error {
				if r.at > 4 {
					return errTape
				}
				return r.take(b, n)
			}
		},
		"data tape, Close: the tape is torn": func(d *tape) { d.shut = func() error { return errTape } },
		"data tape, Read at sample 0: it ends too early: EOF": func(d *tape) {
			d.read = func(*tapeReader, *Batch, int) error { return fmt.Errorf("it ends too early: %w", io.EOF) }
		},
		"data tape: a read of 3 samples gave 4": func(d *tape) {
			d.read = func(r *tapeReader, b *Batch, n int) error { return r.take(b, n+1) }
		},
		"data tape: a read of 3 samples gave 0": func(d *tape) {
			d.read = func(*tapeReader, *Batch, int) error { return nil }
		},
		"data tape: a read of 3 samples gave 2 though there are more": func(d *tape) {
			d.read = func(r *tapeReader, b *Batch, n int) error { return r.take(b, n-min(1, r.at/3)) }
		},
		"data tape: the data holds no samples":                                         func(d *tape) { d.left.Store(0) },
		"data tape: it is streamed but loads 2 samples beside those that are held out": func(d *tape) { d.loaded = bags(2) },
		"data tape: sample 7, position 0 (line 7, position 0): index 10 is outside the embedding's range of 0 to 9": func(d *tape) {
			d.all.Indices[d.all.Offsets[7]] = 10
			d.all.Origin = func(sample, position int) string { return fmt.Sprintf("line %d, position %d", sample, position) }
		},
		"data tape: held-out sample 1: target 10 is outside the model's classes of 0 to 9": func(d *tape) {
			d.loaded = &Samples{HeldOut: bags(2)}
			d.loaded.HeldOut.Targets[1] = 10
		},
		"too few batches (4) for 5 trainers: each needs at least one; lower the batch size or the count of trainers": func(d *tape) { d.left.Store(10) },
	} {
		d := newTape(bags(20))
		spoil(d)
		r, _ := dataOf(t, d, comm.Unix, patience, 0)
		if _, err := r.deal(request(anyInputs, 3, 5)); err == nil || err.Error() != strings.TrimSpace(want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if d.open == nil {
			d.returned(t)
		}
	}
}
