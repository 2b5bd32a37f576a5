package checked

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
)

// slow is a server that answers only when the test tells it to.
type slow struct{ promise *comm.Promise }

func (s slow) PushPull(int64, *tensor.Bucket) *comm.Future {
	s.promise.Begin()
	return s.promise.Future()
}

func exchanges(t *testing.T, k *Keeper) (kept []record.Exchange, cost record.Checked) {
	t.Helper()
	err := k.Collect(func(p record.Piece) error {
		switch p := p.(type) {
		case *record.Exchange:
			kept = append(kept, *p)
		case *record.Checked:
			cost = *p
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return kept, cost
}

// The Keeper records the gradient given to the link and the result of the operation. The gradient
// and the result lie in the same memory, and the trainer continues to use that memory.
func TestKeepsWhatWasGivenAndWhatCame(t *testing.T) {
	k := NewKeeper(1)
	specs := []tensor.BucketSpec{{Elements: 3}}
	s := slow{comm.NewPromise(nil)}
	links := k.Links(sdk.Links{Server: s}, specs)
	b := tensor.NewBucket(specs[0])
	for i, how := range []error{nil, nil, errors.New("it failed")} {
		copy(b.Gradient.Values, []float32{1, 2, 3})
		f := links.Server.PushPull(int64(i), b)
		copy(b.Gradient.Values, []float32{4, 5, 6})
		s.promise.Complete(how)
		_ = f.Wait()
		clear(b.Gradient.Values)
	}
	kept, cost := exchanges(t, k)
	if len(kept) != 2 || cost.Operations != 3 || cost.SpentNS <= 0 {
		t.Fatalf("%+v, %+v", kept, cost)
	}
	for _, x := range kept {
		if x.Sent.Values[0] != 1 || x.Sent.Values[2] != 3 || x.Got.Values[0] != 4 || x.Got.Values[2] != 6 ||
			x.Link != "server" {
			t.Errorf("%+v", x)
		}
	}
	if k.Reset(); len(k.free) != len(k.slots) {
		t.Errorf("a pass begins with %d slots of %d", len(k.free), len(k.slots))
	}
	if kept, cost = exchanges(t, k); len(kept) != 0 || cost.Operations != 0 {
		t.Errorf("after a reset it has %+v, %+v", kept, cost)
	}
}

// The Keeper numbers the operations on a bucket, even if a hook returns to an earlier iteration.
func TestCountsTheOperationsOnABucket(t *testing.T) {
	k := NewKeeper(1)
	specs := []tensor.BucketSpec{{Elements: 3}}
	s := slow{comm.NewPromise(nil)}
	links := k.Links(sdk.Links{Server: s}, specs)
	for _, batch := range []int64{0, 0, 1, 0} {
		links.Server.PushPull(batch, tensor.NewBucket(specs[0]))
		s.promise.Complete(nil)
	}
	numbers := map[[2]int64]bool{}
	kept, _ := exchanges(t, k)
	for _, x := range kept {
		numbers[[2]int64{x.Batch, int64(x.Number)}] = true
	}
	for i, want := range [][2]int64{{0, 0}, {0, 1}, {1, 2}, {0, 3}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if !numbers[want] {
				t.Errorf("there is no operation %v among %v", want, numbers)
			}
		})
	}
}

// The Keeper ignores an unknown bucket and a gradient that is too short.
func TestLeavesOtherGradientsAlone(t *testing.T) {
	k := NewKeeper(1)
	specs := []tensor.BucketSpec{{Elements: 3},
		{Index: 1, Sparse: true, Elements: 8, TableRows: 4, Width: 2, Capacity: 4}}
	s := slow{comm.NewPromise(nil)}
	links := k.Links(sdk.Links{Server: s}, specs)
	for i, b := range []*tensor.Bucket{
		{BucketSpec: specs[0], Gradient: tensor.Gradient{Values: make([]float32, 2)}},
		{BucketSpec: tensor.BucketSpec{Index: 7, Elements: 3}, Gradient: tensor.Gradient{Values: make([]float32, 3)}},
		{BucketSpec: specs[1], Gradient: tensor.Gradient{Values: make([]float32, 3), Rows: []int32{0, 1}, Width: 2}},
	} {
		links.Server.PushPull(int64(i), b)
		s.promise.Complete(nil)
	}
	if kept, _ := exchanges(t, k); len(kept) != 0 || len(k.free) != len(k.slots) {
		t.Errorf("it kept %+v", kept)
	}
}

func TestKeepingAllocatesNothing(t *testing.T) {
	k := NewKeeper(1)
	specs := []tensor.BucketSpec{{Elements: 5000},
		{Index: 1, Sparse: true, Elements: 8000, TableRows: 2000, Width: 4, Capacity: 2000}}
	s := slow{comm.NewPromise(nil)}
	links := k.Links(sdk.Links{Server: s}, specs)
	buckets := []*tensor.Bucket{tensor.NewBucket(specs[0]), tensor.NewBucket(specs[1])}
	_ = buckets[1].Gradient.SetRows(2000)
	for i := range buckets[1].Gradient.Rows {
		buckets[1].Gradient.Rows[i] = int32(i)
	}
	batch := int64(0)
	allocated := testing.AllocsPerRun(3000, func() {
		for _, b := range buckets {
			links.Server.PushPull(batch, b)
			s.promise.Complete(nil)
		}
		batch++
	})
	if allocated != 0 {
		t.Errorf("an iteration allocates %v times", allocated)
	}
}

func BenchmarkKeep(b *testing.B) {
	for name, spec := range map[string]tensor.BucketSpec{
		"dense":  {Elements: 1 << 20},
		"sparse": {Sparse: true, Elements: 16 << 14, TableRows: 1 << 14, Width: 16, Capacity: 1 << 14},
	} {
		b.Run(name, func(b *testing.B) {
			k := NewKeeper(1)
			s := slow{comm.NewPromise(nil)}
			links := k.Links(sdk.Links{Server: s}, []tensor.BucketSpec{spec})
			bucket := tensor.NewBucket(spec)
			if spec.Sparse {
				_ = bucket.Gradient.SetRows(spec.TableRows)
				for i := range bucket.Gradient.Rows {
					bucket.Gradient.Rows[i] = int32(i)
				}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%1024 == 0 {
					k.Reset() // without a reset, it keeps fewer and fewer iterations
				}
				links.Server.PushPull(int64(i%1024), bucket)
				s.promise.Complete(nil)
			}
		})
	}
}

// A place depends on seed, iteration and bucket. Places reach both ends of the bucket.
func TestPlacesReachTheWholeBucket(t *testing.T) {
	spec := tensor.BucketSpec{Index: 3, Elements: 1100}
	first, last := false, false
	for batch := range int64(2000) {
		p := PlaceOf(7, batch, &spec, record.Average, 2, false)
		if p != PlaceOf(7, batch, &spec, record.PushPull, 5, false) ||
			p.From != splitmix.New(7, uint64(batch)<<20+3).IntN(77) || p.Span != 1024 {
			t.Fatalf("%+v", p)
		}
		first, last = first || p.From == 0, last || p.From+p.Span == 1100
	}
	if !first || !last {
		t.Error("no slice is at an end")
	}
	for batch := range int64(100) {
		for _, o := range []record.Operation{record.Average, record.AllToAll} {
			p := PlaceOf(7, batch, &spec, o, 2, true)
			has, places := map[int]bool{}, p.Span*p.Blocks
			for e := range places {
				has[p.Element(e)] = true
			}
			if len(has) != places || !has[0] || !has[15] || !has[1099] || !has[1084] {
				t.Fatalf("%s: %+v has %d elements, among them the first %v and the last %v", o, p, len(has), has[0],
					has[1099])
			}
		}
	}
}

// A slice of rows holds the last rows of a gradient in iteration 0, wherever they lie in the table.
// Slices often hold the first rows, even if the keeper keeps only some iterations. Over a pass,
// slices reach every row.
func TestPlacesReachBothEndsOfATable(t *testing.T) {
	for name, spec := range map[string]tensor.BucketSpec{
		"all rows of a table":     {Sparse: true, TableRows: 4000, Width: 16, Capacity: 4000},
		"few rows of a large one": {Sparse: true, TableRows: 3_000_000, Width: 16, Capacity: 1200},
		"wide rows":               {Sparse: true, TableRows: 5000, Width: 1024, Capacity: 100},
	} {
		t.Run(name, func(t *testing.T) {
			spec.Elements = spec.TableRows * spec.Width
			g := tensor.NewBucket(spec).Gradient
			if err := g.SetRows(spec.Capacity); err != nil {
				t.Fatal(err)
			}
			for i := range g.Rows {
				g.Rows[i] = int32(i) // #nosec G115 -- a row
				g.Values[i*g.Width] = float32(i)
			}
			reached, first, last := map[int32]bool{}, 0, 0
			const batches, stride = 40000, 4
			for batch := int64(0); batch < batches; batch += stride {
				s := record.Slice{Values: make([]float32, elements), Rows: make([]int32, elements)}
				p := PlaceOf(7, batch, &spec, record.Average, 2, true)
				if !p.cut(&s, &g) || !p.Fits(&s) {
					t.Fatalf("%+v does not cut what fits", p)
				}
				for i, row := range s.Rows {
					reached[row] = true
					if got := s.Values[i*p.Span]; p.Column == 0 && got != float32(row) {
						t.Fatalf("row %d has the values of row %v", row, got)
					}
				}
				switch {
				case slices.Contains(s.Rows, g.Rows[len(g.Rows)-1]):
					last++
				case batch == 0:
					t.Errorf("%+v of iteration 0 has not the last row", p)
				}
				if slices.Contains(s.Rows, g.Rows[0]) {
					first++
				}
			}
			if least := batches / stride / 4; first < least || last < least {
				t.Errorf("of %d slices %d have the first row and %d the last", batches/stride, first, last)
			}
			if spec.TableRows == spec.Capacity && len(reached) != len(g.Rows) {
				t.Errorf("%d of %d rows are in some slice", len(reached), len(g.Rows))
			}
		})
	}
}
