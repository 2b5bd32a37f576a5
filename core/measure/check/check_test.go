package check

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/checked"
	"github.com/psbench/psbench/internal/host/record"
)

// Right results pass the check, for all operations, shapes and rounding errors. If one element of a rank's slice is
// wrong by more than rounding, the outcome names the element.
func TestAnElementThatIsWrongIsNamed(t *testing.T) {
	keepers := newKeepers(4, 11)
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 4).Draw(t, "ranks")
		spec := drawSpec(t)
		o := rapid.SampledFrom(operations).Draw(t, "operation")
		if spec.Sparse && o > record.Broadcast {
			o = record.Average
		}
		w := newWorld(t, keepers[:ranks], 11, []tensor.BucketSpec{spec})
		w.average = rapid.Bool().Draw(t, "average")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "values"), 0))
		root, bad := rapid.IntRange(0, ranks-1).Draw(t, "root"), rapid.IntRange(0, ranks-1).Draw(t, "bad rank")
		const batches = 3
		for batch := range int64(batches) {
			w.round(random, o, batch, 0, root, nil)
		}
		out := w.check()
		if out.Mismatch != nil {
			t.Fatalf("%s of what is right: %v", o, out.Mismatch)
		}
		if out.Iterations != batches || out.Slices != int64(batches*ranks) || out.Missing != 0 {
			t.Fatalf("compared %+v of %d batches on %d ranks", out, batches, ranks)
		}
		place, at := checked.PlaceOf(11, batches, &spec, o, ranks, true), -1
		w.round(random, o, batches, 0, root, func(rank int, g *tensor.Gradient) {
			if rank != bad {
				return
			}
			var offered []int // elements that are in the slice and known
			if spec.Sparse {
				first, _ := slices.BinarySearch(g.Rows, int32(place.From))
				for row := first; row < first+min(place.Rows, len(g.Rows)); row++ {
					offered = append(offered, row%len(g.Rows)*spec.Width+place.Column)
				}
			} else {
				from, to := tensor.Shard(spec.Elements, ranks, rank)
				for i := range place.Span {
					if e := place.Element(i); o != record.ReduceScatter || e >= from && e < to {
						offered = append(offered, e)
					}
				}
			}
			if len(offered) == 0 {
				return
			}
			i := offered[random.IntN(len(offered))]
			g.Values[i] = g.Values[i]*1.01 + 1e30
			if at = i; spec.Sparse {
				at = int(g.Rows[i/spec.Width])*spec.Width + i%spec.Width
			}
		})
		out = w.check()
		switch m := out.Mismatch; {
		case at < 0:
			if m != nil {
				t.Fatalf("%s of what is right: %v", o, m)
			}
		case m == nil:
			// A wrong element of a sparse gradient may be missed: only rows up to the end of every member's slice are
			// compared.
			if !spec.Sparse {
				t.Fatalf("%s: nothing is said of element %d", o, at)
			}
		case m.Element != at || m.Rank != fmt.Sprintf("trainer%d", bad) || m.Batch != batches || m.Bucket != 0:
			t.Fatalf("%s: element %d of trainer%d is wrong, but it says %v", o, at, bad, m)
		}
	})
}

// The check finds rows in an answer that nobody pushed, and rows that an answer lacks.
func TestRowsThatAreWrongAreNamed(t *testing.T) {
	keepers := newKeepers(2, 3)
	spec := tensor.BucketSpec{Sparse: true, Elements: 40, TableRows: 10, Width: 4, Capacity: 10}
	for want, spoil := range map[string]func(*tensor.Gradient){
		"no row": func(g *tensor.Gradient) {
			g.Rows, g.Values = g.Rows[:len(g.Rows)-1], g.Values[:len(g.Values)-4]
		},
		"row 9, which no rank": func(g *tensor.Gradient) { n := len(g.Rows); _ = g.SetRows(n + 1); g.Rows[n] = 9 },
		"but":                  func(g *tensor.Gradient) { g.Values[1] = math.Nextafter32(g.Values[1], 9) },
		"NaN instead of":       func(g *tensor.Gradient) { g.Values[1] = float32(math.NaN()) },
		"+Inf instead of ":     func(g *tensor.Gradient) { g.Values[1] = float32(math.Inf(1)) },
	} {
		t.Run(want, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := newWorld(t, keepers, 3, []tensor.BucketSpec{spec})
				random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "values"), 0))
				fired := false
				w.round(random, record.AllReduce, 0, 0, 0, func(rank int, g *tensor.Gradient) {
					if rank == 1 && len(g.Rows) > 0 && g.Rows[len(g.Rows)-1] < 9 {
						spoil(g)
						fired = true
					}
				})
				m := w.check().Mismatch
				if fired != (m != nil) || m != nil && (m.Rank != "trainer1" || !strings.Contains(m.Error(), want)) {
					t.Fatalf("spoilt: %v, but it says %v, not %q", fired, m, want)
				}
			})
		})
	}
}

// The check computes the mean itself if a server declares that it answers with the mean. It therefore finds an answer
// that is always wrong in the same way, which the server itself would confirm.
func TestAWrongAverageIsFound(t *testing.T) {
	for _, spec := range []tensor.BucketSpec{{Elements: 9},
		{Sparse: true, Elements: 12, TableRows: 3, Width: 4, Capacity: 3}} {
		t.Run(fmt.Sprint(spec.Index), func(t *testing.T) {
			w := newWorld(t, newKeepers(3, 1), 1, []tensor.BucketSpec{spec})
			w.average = true
			random := rand.New(rand.NewPCG(2, 2))
			w.round(random, record.PushPull, 0, 0, 0, nil)
			if out := w.check(); out.Mismatch != nil || out.Elements == 0 {
				t.Errorf("%+v", out)
			}
			w.round(random, record.PushPull, 1, 0, 0, func(_ int, g *tensor.Gradient) {
				for i := range g.Values {
					g.Values[i] *= 1.001 // the same error on all ranks
				}
			})
			if m := w.check().Mismatch; m == nil || m.Rank != "trainer0" || m.Batch != 1 || m.Operation != "push-pull" {
				t.Errorf("it says %v", m)
			}
		})
	}
}

// Rows are compared wherever they lie in the table, even if no pushed row comes after the start of the slice.
func TestRowsThatLieTogetherAreCompared(t *testing.T) {
	spec := tensor.BucketSpec{Sparse: true, Elements: 16 << 14, TableRows: 1 << 14, Width: 16, Capacity: 200}
	w := newWorld(t, newKeepers(2, 7), 7, []tensor.BucketSpec{spec})
	random := rand.New(rand.NewPCG(1, 1))
	const batches = 20
	for batch := range int64(batches) {
		w.round(random, record.AllReduce, batch, 0, 0, nil) // pushes only some of the first rows
		for rank := range w.buckets {
			if rows := w.buckets[rank][0].Gradient.Rows; rows[len(rows)-1] > 1000 {
				t.Fatalf("the last row is %d", rows[len(rows)-1])
			}
		}
	}
	rows := (checked.SliceBytes / 4) / 17 // rows of each slice
	if out := w.check(); out.Mismatch != nil || out.Elements < int64(batches*2*rows/2*16) {
		t.Errorf("%+v", out)
	}
}

// The kept slices are spread over a long pass from beginning to end. All ranks keep the same slices.
func TestWhatIsKeptIsSpreadOverThePass(t *testing.T) {
	keepers := newKeepers(2, 5)
	const batches = 5000
	w := newWorld(t, keepers, 5, []tensor.BucketSpec{{Elements: 3}, {Index: 1, Elements: 1500}})
	random := rand.New(rand.NewPCG(1, 1))
	for batch := range int64(batches) {
		w.round(random, record.Average, batch, 0, 0, nil)
		if batch%500 == 0 {
			w.round(random, record.AllReduce, batch, 1, 0, nil)
		}
	}
	out := w.check()
	if out.Mismatch != nil || out.Missing != 0 || out.Iterations < 1024 || out.Slices < 2*out.Iterations {
		t.Fatalf("%+v", out)
	}
}

// Do returns an error for an exchange that a process cannot have kept.
func TestExchangesThatCannotBeAreRefused(t *testing.T) {
	spec := tensor.BucketSpec{Elements: 3}
	good := func() *record.Exchange {
		return &record.Exchange{Link: "group", Operation: record.Average,
			Sent: record.Slice{Values: make([]float32, 3)}, Got: record.Slice{Values: make([]float32, 3)}}
	}
	for name, bend := range map[string]func(x *record.Exchange){
		"bucket":    func(x *record.Exchange) { x.Bucket = 7 },
		"negative":  func(x *record.Exchange) { x.Bucket = -1 },
		"values":    func(x *record.Exchange) { x.Got.Values = x.Got.Values[:2] },
		"rows":      func(x *record.Exchange) { x.Sent.Rows = []int32{1} },
		"root":      func(x *record.Exchange) { x.Operation, x.Root = record.Broadcast, 5 },
		"operation": func(x *record.Exchange) { x.Operation = 77 },
	} {
		t.Run(name, func(t *testing.T) {
			x := good()
			bend(x)
			run := &Run{Buckets: []tensor.BucketSpec{spec}, Names: []string{"trainer0"},
				Kept: [][]*record.Exchange{{x}}}
			if out, err := run.Do(); err == nil {
				t.Errorf("%s: it makes %+v of it", name, out)
			}
		})
	}
	run := &Run{Buckets: []tensor.BucketSpec{spec}, Names: []string{"trainer0"},
		Kept: [][]*record.Exchange{{good(), good()}}}
	if _, err := run.Do(); err == nil {
		t.Error("two exchanges of one operation pass")
	}
}

// Do skips the answers of a server if it cannot know the right ones.
func TestUnknownAnswersAreNotCompared(t *testing.T) {
	x := &record.Exchange{Link: "server", Operation: record.PushPull, Sent: record.Slice{Values: make([]float32, 3)},
		Got: record.Slice{Values: make([]float32, 3)}}
	run := &Run{
		Buckets: []tensor.BucketSpec{{Elements: 3}}, Names: []string{"trainer0", "trainer1"},
		Servers: map[int][]int{1: {0, 1}}, Kept: [][]*record.Exchange{{x}, nil},
	}
	if out, err := run.Do(); err != nil || out.Slices != 0 || out.Missing != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	run.Kept[1] = run.Kept[0]
	broken := errors.New("broken")
	run.Combine = func(int, [][][]float32) ([][]float32, error) { return nil, broken }
	if _, err := run.Do(); !errors.Is(err, broken) {
		t.Errorf("it says %v", err)
	}
}
