package data

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// anySets draws sets of trainers, with or without rank order.
func anySets(t *rapid.T) (sets [][]int, trainers int) {
	ranks := rapid.Permutation([]int{0, 1, 2, 3, 4}[:rapid.IntRange(1, 5).Draw(t, "trainers")]).Draw(t, "ranks")
	for rest := ranks; len(rest) > 0; {
		n := rapid.IntRange(1, len(rest)).Draw(t, "members")
		sets, rest = append(sets, rest[:n]), rest[n:]
	}
	return sets, len(ranks)
}

// A stream is partitioned like the same samples in memory. Each epoch sends the same batches again.
func TestStreamsArePartitionedAsMemoryIs(t *testing.T) {
	a, b := hosttest.Pair(t)
	data, trainer := &call.Link{Conn: a}, &call.Link{Conn: b}
	rapid.Check(t, func(t *rapid.T) {
		s := hosttest.AnySamples(t)
		s.Batches = nil
		in := sdk.InputSpec{Rows: 10, Classes: 10, Features: len(s.Features) / s.Size(),
			Targets: max(s.TargetWidth, len(s.Targets)/s.Size())}
		if len(s.Offsets) == 0 {
			in.Rows = 0
		}
		sets, _ := anySets(t)
		req := Request{Inputs: in, BatchSize: rapid.IntRange(1, 6).Draw(t, "size"), Sets: sets}
		wanted := batches.Wanted{Targets: sdk.NumberTargets}
		memory := &Role{samples: s, wanted: wanted}
		want, wantErr := memory.partitionSamples(req)
		streamed := &Role{Process: &process.Process{}, wanted: wanted}
		streamed.data = hosttest.NewTape(s)
		got, err := streamed.partitionStream(hosttest.NewTape(s), req)
		if wantErr != nil {
			if err == nil || err.Error() != wantErr.Error() {
				t.Fatalf("the stream gives %v, memory %v", err, wantErr)
			}
			return
		}
		hosttest.Must(t, err)
		if got.Samples != want.Samples || got.Batches != want.Batches || got.Dropped != want.Dropped {
			t.Fatalf("the stream is partitioned as %v, memory as %v", got, want)
		}
		for rank, share := range want.Shares {
			g := got.Shares[rank]
			if g.Batches != share.Batches || g.Samples != share.Samples || g.BatchSamples != share.BatchSamples ||
				g.TargetWidth != share.TargetWidth {
				t.Fatalf("the stream's share %d is %v, that of memory %v", rank, g, share)
			}
			if g.BatchIndices < share.BatchIndices || g.DistinctRows < share.DistinctRows {
				t.Fatalf("the stream's share %d is %v, which has less room than %v", rank, g, share)
			}
			largest := batches.LargestOf(g, in)
			sent := make(chan error, 1)
			go func() {
				sent <- errors.Join(streamed.stream.sendEpoch(data, rank), streamed.stream.sendEpoch(data, rank))
			}()
			for range 2 {
				for i, wanted := range memory.shares[rank] {
					var h wire.Header
					hosttest.Must(t, call.Expect(trainer, &h, batches.OpBatch))
					var b batches.Memory
					hosttest.Must(t, b.Read(trainer, &h))
					if d := cmp.Diff(wanted, b.Batch, cmpopts.EquateEmpty()); d != "" {
						t.Fatalf("batch %d of trainer %d: %s", i, rank, d)
					}
					for k, n := range batches.LengthsOf(&b.Batch) {
						if n > largest[k] {
							t.Fatalf("a batch has lists of %v, the largest one of %v", batches.LengthsOf(&b.Batch),
								largest)
						}
					}
					hosttest.Must(t, b.Close())
				}
			}
			hosttest.Must(t, <-sent)
		}
	})
}

// Each pass begins with the first batch, however many batches the previous pass took. The order in
// which data process and trainers start the pass does not matter.
func TestPassesBeginWithTheFirstBatch(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		r, takers := dataOf(t, held(streamed, 0), "unix", hosttest.Patience, 2) // 7 samples
		partition, err := r.Partition(request(hosttest.AnyInputs, 1, 2))
		hosttest.Must(t, err)
		fetch(t, r, takers, hosttest.AnyInputs, partition)
		rapid.Check(t, func(t *rapid.T) {
			for range rapid.IntRange(1, 3).Draw(t, "passes") {
				begin := []func() error{r.Reset, takers[0].Batches.Rewind, takers[1].Batches.Rewind}
				begun := make(chan error, len(begin))
				for _, b := range begin {
					go func() { begun <- b() }()
				}
				for range begin {
					hosttest.Must(t, <-begun)
				}
				for i, taker := range takers {
					for k := range rapid.IntRange(0, 12).Draw(t, "batches") { // an epoch has 3 batches
						b, err := taker.Batches.Next()
						hosttest.Must(t, err)
						want := hosttest.Bags(7).Bag(i + 2*(k%3))
						if d := cmp.Diff(want, b.Indices, cmpopts.EquateEmpty()); d != "" {
							t.Fatalf("streamed %v, trainer %d, batch %d: %s", streamed, i, k, d)
						}
					}
				}
			}
		})
	}
}

// held returns data with held-out samples, in memory or as a stream.
func held(streamed bool, heldOut int) sdk.Data {
	s := hosttest.Bags(7)
	s.HeldOut = hosttest.Bags(heldOut)
	if streamed {
		d := hosttest.NewTape(s)
		d.Loaded = &sdk.Samples{HeldOut: s.HeldOut}
		return d
	}
	return hosttest.Loaded{Samples: s}
}

// Held-out samples are dealt to all trainers in turn; no sample is dropped.
func TestHeldOutSamplesAreDealt(t *testing.T) {
	for _, transport := range []string{"shm", "unix"} {
		t.Run(transport, func(t *testing.T) {
			for _, streamed := range []bool{false, true} {
				for _, n := range []int{0, 1, 11} {
					r, takers := dataOf(t, held(streamed, n), transport, hosttest.Patience, 3)
					partition, err := r.Partition(request(hosttest.AnyInputs, 2, 3))
					hosttest.Must(t, err)
					fetch(t, r, takers, hosttest.AnyInputs, partition)
					if partition.HeldOut != n || partition.Samples != 7 || partition.Streamed != streamed {
						t.Errorf("%s, streamed %v: the partition is %v", transport, streamed, partition)
					}
					batches := batches.CutEvery(&hosttest.Bags(n).Batch, 2)
					for rank, taker := range takers {
						var want []sdk.Batch
						for i := rank; i < len(batches); i += 3 {
							want = append(want, batches[i])
						}
						if d := cmp.Diff(want, taker.HeldOut, cmpopts.EquateEmpty()); d != "" {
							t.Errorf("%s, streamed %v, trainer %d of %d held out: %s", transport, streamed, rank, n, d)
						}
						if got := partition.Shares[rank].HeldOutBatches; got != len(want) {
							t.Errorf("trainer %d gets %d held-out batches but was told of %d", rank, len(want), got)
						}
					}
				}
			}
		})
	}
}

// Held-out batches may be larger than every training batch.
func TestHeldOutSamplesGetRoom(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprint(streamed), func(t *testing.T) {
			r, _ := dataOf(t, held(streamed, 20), "unix", hosttest.Patience, 1)
			partition, err := r.Partition(request(hosttest.AnyInputs, 20, 1))
			hosttest.Must(t, err)
			s := partition.Shares[0]
			if s.BatchSamples != 20 || s.BatchIndices != 30 || s.Samples != 7 || s.DistinctRows > 10 {
				t.Errorf("streamed %v: the share is %v", streamed, s)
			}
		})
	}
}

func TestScanRefuses(t *testing.T) {
	for want, spoil := range map[string]func(d *hosttest.Tape){
		"data tape, Open: the tape is torn": func(d *hosttest.Tape) {
			d.OnOpen = func() error { return hosttest.ErrTape }
		},
		"data tape, Read at sample 6: the tape is torn": func(d *hosttest.Tape) {
			d.OnRead = func(r *hosttest.TapeReader, b *sdk.Batch, n int) error {
				if r.At > 4 {
					return hosttest.ErrTape
				}
				return r.Take(b, n)
			}
		},
		"data tape, Close: the tape is torn": func(d *hosttest.Tape) {
			d.OnClose = func() error { return hosttest.ErrTape }
		},
		"data tape, Read at sample 0: it ends too early: EOF": func(d *hosttest.Tape) {
			d.OnRead = func(*hosttest.TapeReader, *sdk.Batch, int) error {
				return fmt.Errorf("it ends too early: %w", io.EOF)
			}
		},
		"data tape: a read of 3 samples gave 4": func(d *hosttest.Tape) {
			d.OnRead = func(r *hosttest.TapeReader, b *sdk.Batch, n int) error { return r.Take(b, n+1) }
		},
		"data tape: a read of 3 samples gave 0": func(d *hosttest.Tape) {
			d.OnRead = func(*hosttest.TapeReader, *sdk.Batch, int) error { return nil }
		},
		"data tape: a read of 3 samples gave 2 though there are more": func(d *hosttest.Tape) {
			d.OnRead = func(r *hosttest.TapeReader, b *sdk.Batch, n int) error { return r.Take(b, n-min(1, r.At/3)) }
		},
		"data tape: the data holds no samples": func(d *hosttest.Tape) {
			d.Left.Store(0)
		},
		"data tape: it is streamed but loads 2 samples besides those that are held out": func(d *hosttest.Tape) {
			d.Loaded = hosttest.Bags(2)
		},
		"data tape: sample 7, position 0 (line 7, position 0): index 10 is outside the embedding's range of 0 to 9": func(d *hosttest.Tape) {
			d.All.Indices[d.All.Offsets[7]] = 10
			d.All.Origin = func(sample, position int) string {
				return fmt.Sprintf("line %d, position %d", sample, position)
			}
		},
		"data tape: held-out sample 1: target 10 is outside the model's classes of 0 to 9": func(d *hosttest.Tape) {
			d.Loaded = &sdk.Samples{HeldOut: hosttest.Bags(2)}
			d.Loaded.HeldOut.Targets[1] = 10
		},
		"too few batches (4) for 5 trainers: each needs at least one; lower the batch size or the count of trainers": func(d *hosttest.Tape) { d.Left.Store(10) },
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			d := hosttest.NewTape(hosttest.Bags(20))
			spoil(d)
			r, _ := dataOf(t, d, "unix", hosttest.Patience, 0)
			if _, err := r.Partition(request(hosttest.AnyInputs, 3, 5)); err == nil ||
				err.Error() != strings.TrimSpace(want) {
				t.Errorf("got %v, want %s", err, want)
			}
			if d.OnOpen == nil {
				d.Returned(t)
			}
		})
	}
}
