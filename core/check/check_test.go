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

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/checked"
	"github.com/psbench/psbench/sdk/host/record"
)

// member is a rank's end of every link. What operations leave the test computes, from all ranks.
type member struct {
	size    int
	promise *comm.Promise
}

func (m *member) begin() *comm.Future { m.promise.Begin(); return m.promise.Future() }

func (m *member) PushPull(int64, *tensor.Bucket) *comm.Future       { return m.begin() }
func (m *member) AllReduce(int64, *tensor.Bucket) *comm.Future      { return m.begin() }
func (m *member) Average(int64, *tensor.Bucket) *comm.Future        { return m.begin() }
func (m *member) Broadcast(int64, *tensor.Bucket, int) *comm.Future { return m.begin() }
func (m *member) ReduceScatter(int64, *tensor.Bucket) *comm.Future  { return m.begin() }
func (m *member) AllGather(int64, *tensor.Bucket) *comm.Future      { return m.begin() }
func (m *member) AllToAll(int64, *tensor.Bucket) *comm.Future       { return m.begin() }
func (m *member) Barrier() error                                    { return nil }
func (m *member) Size() int                                         { return m.size }
func (m *member) Position() int                                     { return 0 }

// start begins an operation on a rank's links.
func start(l sdk.Links, o record.Operation, batch int64, b *tensor.Bucket, root int) *comm.Future {
	switch o {
	case record.PushPull:
		return l.Server.PushPull(batch, b)
	case record.AllReduce:
		return l.Group.AllReduce(batch, b)
	case record.Average:
		return l.Group.Average(batch, b)
	case record.Broadcast:
		return l.Group.Broadcast(batch, b, root)
	case record.ReduceScatter:
		return l.Group.ReduceScatter(batch, b)
	case record.AllGather:
		return l.Group.AllGather(batch, b)
	default:
		return l.Group.AllToAll(batch, b)
	}
}

// world is ranks whose operations are carried out by plain loops.
type world struct {
	t       interface{ Fatal(args ...any) }
	seed    uint64
	specs   []tensor.BucketSpec
	keepers []*checked.Keeper
	members []*member
	links   []sdk.Links
	buckets [][]*tensor.Bucket // by rank
	average bool               // the server says that it averages, and nobody needs to ask it
}

func newWorld(t interface{ Fatal(args ...any) }, keepers []*checked.Keeper, seed uint64, specs []tensor.BucketSpec) *world {
	w := &world{t: t, seed: seed, specs: specs, keepers: keepers}
	for _, k := range keepers {
		k.Reset()
		m := &member{len(keepers), comm.NewPromise(nil)}
		w.members = append(w.members, m)
		w.links = append(w.links, k.Links(sdk.Links{Server: m, Group: m}, specs))
		var buckets []*tensor.Bucket
		for _, spec := range specs {
			buckets = append(buckets, tensor.NewBucket(spec))
		}
		w.buckets = append(w.buckets, buckets)
	}
	return w
}

// round has all ranks carry out an operation on random values. spoil may change what a rank is left
// with.
func (w *world) round(random *rand.Rand, o record.Operation, batch int64, bucket, root int, spoil func(rank int, g *tensor.Gradient)) {
	n := len(w.members)
	spec := &w.specs[bucket]
	var before []tensor.Gradient
	for rank := range n {
		g := &w.buckets[rank][bucket].Gradient
		if spec.Sparse {
			var rows []int32
			for row := range spec.TableRows {
				if random.IntN(3) == 0 && len(rows) < spec.Capacity/n {
					rows = append(rows, int32(row))
				}
			}
			if err := g.SetRows(len(rows)); err != nil {
				w.t.Fatal(err)
			}
			copy(g.Rows, rows)
		}
		for i := range g.Values {
			g.Values[i] = float32(random.NormFloat64() * math.Exp(4*random.NormFloat64()))
		}
		before = append(before, tensor.Gradient{Values: slices.Clone(g.Values), Rows: slices.Clone(g.Rows), Width: g.Width})
		start(w.links[rank], o, batch, w.buckets[rank][bucket], root)
	}
	for rank, m := range w.members {
		g := &w.buckets[rank][bucket].Gradient
		carryOut(g, spec, o, before, rank, root)
		if spoil != nil {
			spoil(rank, g)
		}
		m.promise.Complete(nil)
	}
}

// carryOut makes g what a rank is left with. Sums are in float32, in any but the core's order.
func carryOut(g *tensor.Gradient, spec *tensor.BucketSpec, o record.Operation, before []tensor.Gradient, rank, root int) {
	n := len(before)
	if spec.Sparse && o != record.Broadcast {
		m := tensor.NewRowMerger(n)
		for i := range before {
			m.Add(&before[n-1-i])
		}
		if err := m.Sum(g); err != nil {
			panic(err)
		}
		if o != record.AllReduce {
			for i := range g.Values {
				g.Values[i] *= 1 / float32(n)
			}
		}
		return
	}
	if o == record.Broadcast {
		if err := g.CopyFrom(&before[root]); err != nil {
			panic(err)
		}
		return
	}
	for i := range g.Values {
		sum := float32(0)
		for r := n - 1; r >= 0; r-- {
			sum += before[r].Values[i]
		}
		from, to := tensor.Shard(spec.Elements, n, rank)
		switch o {
		case record.AllReduce:
			g.Values[i] = sum
		case record.PushPull, record.Average:
			g.Values[i] = sum / float32(n)
		case record.ReduceScatter:
			if g.Values[i] = -1; i >= from && i < to {
				g.Values[i] = sum
			}
		case record.AllGather:
			for owner := range n {
				if from, to := tensor.Shard(spec.Elements, n, owner); i >= from && i < to {
					g.Values[i] = before[owner].Values[i]
				}
			}
		case record.AllToAll:
			if size := spec.Elements / n; i < n*size {
				g.Values[i] = before[i/size].Values[rank*size+i%size]
			}
		}
	}
}

// check recomputes everything.
func (w *world) check() *Outcome {
	run := &Run{Seed: w.seed, Buckets: w.specs, Servers: map[int][]int{9: nil}, Combine: mean(len(w.members)), Average: w.average}
	for rank, k := range w.keepers {
		run.Names = append(run.Names, fmt.Sprintf("trainer%d", rank))
		run.Servers[9] = append(run.Servers[9], rank)
		var kept []*record.Exchange
		err := k.Collect(func(p record.Piece) error {
			if x, ok := p.(*record.Exchange); ok {
				kept = append(kept, x)
			}
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
		run.Kept = append(run.Kept, kept)
	}
	out, err := run.Do()
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// mean is the Combine of a server that answers with the mean over so many trainers.
func mean(trainers int) func(int, [][][]float32) ([][]float32, error) {
	return func(_ int, pushed [][][]float32) (answers [][]float32, err error) {
		for _, gradients := range pushed {
			sum := slices.Clone(gradients[0])
			for _, g := range gradients[1:] {
				for i, v := range g {
					sum[i] += v
				}
			}
			for i := range sum {
				sum[i] *= 1 / float32(trainers)
			}
			answers = append(answers, sum)
		}
		return answers, nil
	}
}

var operations = []record.Operation{
	record.PushPull, record.AllReduce, record.Average, record.Broadcast, record.ReduceScatter, record.AllGather, record.AllToAll,
}

func drawSpec(t *rapid.T) tensor.BucketSpec {
	if !rapid.Bool().Draw(t, "sparse") {
		return tensor.BucketSpec{Elements: rapid.IntRange(1, 3000).Draw(t, "elements")}
	}
	rows, width := rapid.IntRange(1, 300).Draw(t, "rows"), rapid.SampledFrom([]int{1, 3, 16, 1023, 1200}).Draw(t, "width")
	return tensor.BucketSpec{Sparse: true, Elements: rows * width, TableRows: rows, Width: width, Capacity: rows}
}

// What is right passes, whatever the operation, its shape and its rounding; and where one element of
// the slice of one rank is wrong by more than a rounding, the outcome names it.
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
		place, at := checked.PlaceOf(11, batches, &spec, o, ranks), -1
		w.round(random, o, batches, 0, root, func(rank int, g *tensor.Gradient) {
			if rank != bad {
				return
			}
			var offered []int // that are in the slice, and known
			if spec.Sparse {
				first, _ := slices.BinarySearch(g.Rows, int32(place.From))
				for row := first; row < first+min(place.Rows, len(g.Rows)); row++ {
					offered = append(offered, row%len(g.Rows)*spec.Width+place.Column)
				}
			} else {
				from, to := tensor.Shard(spec.Elements, ranks, rank)
				for i := range place.Span {
					if e := place.From + i; o != record.ReduceScatter || e >= from && e < to {
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
			// Of sparse gradients those rows are left out up to which not all were kept.
			if !spec.Sparse {
				t.Fatalf("%s: nothing is said of element %d", o, at)
			}
		case m.Element != at || m.Rank != fmt.Sprintf("trainer%d", bad) || m.Batch != batches || m.Bucket != 0:
			t.Fatalf("%s: element %d of trainer%d is wrong, but it says %v", o, at, bad, m)
		}
	})
}

func newKeepers(n int, seed uint64) (keepers []*checked.Keeper) {
	for range n {
		keepers = append(keepers, checked.NewKeeper(seed))
	}
	return keepers
}

// Rows of an answer that nobody pushed, or that are not in it, are found too.
func TestRowsThatAreWrongAreNamed(t *testing.T) {
	keepers := newKeepers(2, 3)
	spec := tensor.BucketSpec{Sparse: true, Elements: 40, TableRows: 10, Width: 4, Capacity: 10}
	for want, spoil := range map[string]func(*tensor.Gradient){
		"no row":                func(g *tensor.Gradient) { g.Rows, g.Values = g.Rows[:len(g.Rows)-1], g.Values[:len(g.Values)-4] },
		"row 9, which nobody":   func(g *tensor.Gradient) { n := len(g.Rows); _ = g.SetRows(n + 1); g.Rows[n] = 9 },
		"but":                   func(g *tensor.Gradient) { g.Values[1] = math.Nextafter32(g.Values[1], 9) },
		"NaN in the place of":   func(g *tensor.Gradient) { g.Values[1] = float32(math.NaN()) },
		"+Inf in the place of ": func(g *tensor.Gradient) { g.Values[1] = float32(math.Inf(1)) },
	} {
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
	}
}

// A server that says that it averages is not asked: what it answers always in the same wrong way is
// found, though it would say the same of itself.
func TestAWrongAverageIsFound(t *testing.T) {
	for _, spec := range []tensor.BucketSpec{{Elements: 9}, {Sparse: true, Elements: 12, TableRows: 3, Width: 4, Capacity: 3}} {
		w := newWorld(t, newKeepers(3, 1), 1, []tensor.BucketSpec{spec})
		w.average = true
		random := rand.New(rand.NewPCG(2, 2))
		w.round(random, record.PushPull, 0, 0, 0, nil)
		if out := w.check(); out.Mismatch != nil || out.Elements == 0 {
			t.Errorf("%+v", out)
		}
		w.round(random, record.PushPull, 1, 0, 0, func(_ int, g *tensor.Gradient) {
			for i := range g.Values {
				g.Values[i] *= 1.001 // on all ranks
			}
		})
		if m := w.check().Mismatch; m == nil || m.Rank != "trainer0" || m.Batch != 1 || m.Operation != "push-pull" {
			t.Errorf("it says %v", m)
		}
	}
}

// Rows are compared wherever they lie in the table, also where none is behind the place of a slice.
func TestRowsThatLieTogetherAreCompared(t *testing.T) {
	spec := tensor.BucketSpec{Sparse: true, Elements: 16 << 14, TableRows: 1 << 14, Width: 16, Capacity: 200}
	w := newWorld(t, newKeepers(2, 7), 7, []tensor.BucketSpec{spec})
	random := rand.New(rand.NewPCG(1, 1))
	const batches = 20
	for batch := range int64(batches) {
		w.round(random, record.AllReduce, batch, 0, 0, nil) // of rows that are among the first
		for rank := range w.buckets {
			if rows := w.buckets[rank][0].Gradient.Rows; rows[len(rows)-1] > 1000 {
				t.Fatalf("the last row is %d", rows[len(rows)-1])
			}
		}
	}
	rows := (checked.SliceBytes / 4) / 17 // of each slice
	if out := w.check(); out.Mismatch != nil || out.Elements < int64(batches*2*rows/2*16) {
		t.Errorf("%+v", out)
	}
}

// A long pass is kept from its beginning to its end, and the same of it on all ranks.
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

// What a process cannot have kept is refused.
func TestExchangesThatCannotBeAreRefused(t *testing.T) {
	spec := tensor.BucketSpec{Elements: 3}
	good := func() *record.Exchange {
		return &record.Exchange{Link: "group", Operation: record.Average, Sent: record.Slice{Values: make([]float32, 3)}, Got: record.Slice{Values: make([]float32, 3)}}
	}
	for name, bend := range map[string]func(x *record.Exchange){
		"bucket":    func(x *record.Exchange) { x.Bucket = 7 },
		"negative":  func(x *record.Exchange) { x.Bucket = -1 },
		"values":    func(x *record.Exchange) { x.Got.Values = x.Got.Values[:2] },
		"rows":      func(x *record.Exchange) { x.Sent.Rows = []int32{1} },
		"root":      func(x *record.Exchange) { x.Operation, x.Root = record.Broadcast, 5 },
		"operation": func(x *record.Exchange) { x.Operation = 77 },
	} {
		x := good()
		bend(x)
		run := &Run{Buckets: []tensor.BucketSpec{spec}, Names: []string{"trainer0"}, Kept: [][]*record.Exchange{{x}}}
		if out, err := run.Do(); err == nil {
			t.Errorf("%s: it makes %+v of it", name, out)
		}
	}
	run := &Run{Buckets: []tensor.BucketSpec{spec}, Names: []string{"trainer0"}, Kept: [][]*record.Exchange{{good(), good()}}}
	if _, err := run.Do(); err == nil {
		t.Error("two exchanges of one operation pass")
	}
}

// A server of which nobody knows what it answers is left out.
func TestUnknownAnswersAreNotCompared(t *testing.T) {
	x := &record.Exchange{Link: "server", Operation: record.PushPull, Sent: record.Slice{Values: make([]float32, 3)}, Got: record.Slice{Values: make([]float32, 3)}}
	run := &Run{
		Buckets: []tensor.BucketSpec{{Elements: 3}}, Names: []string{"trainer0", "trainer1"}, Servers: map[int][]int{1: {0, 1}}, Kept: [][]*record.Exchange{{x}, nil},
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
