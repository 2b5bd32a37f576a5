package bench

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// example is a check of the sum or mean over the first ranks in a round.
type example struct {
	*Values
	round int64
	ranks []int
}

func exampleOf(density float64, mean bool, round int64, ranks int) *example {
	e := &example{Values: NewValues(density, mean), round: round}
	for rank := range ranks {
		e.ranks = append(e.ranks, rank)
	}
	return e
}

func (e *example) find(b *tensor.Bucket) (where, how string) {
	return e.Mismatch(b, e.round, []Part{{To: b.Elements, Ranks: e.ranks}})
}

// reduced is a bucket with the result that the example expects, computed the
// slow way.
func reduced(spec tensor.BucketSpec, c *example) *tensor.Bucket {
	out := tensor.NewBucket(spec)
	part := tensor.NewBucket(spec)
	sums := make([]float64, spec.Elements)
	rows := map[int32]bool{}
	for _, rank := range c.ranks {
		if err := c.Fill(part, rank, c.round); err != nil {
			panic(err)
		}
		for i, v := range part.Gradient.Values {
			at := i
			if spec.Sparse {
				row := part.Gradient.Rows[i/spec.Width]
				rows[row] = true
				at = int(row)*spec.Width + i%spec.Width
			}
			sums[at] += float64(v)
		}
	}
	write := func(dst []float32, from int) {
		for i := range dst {
			dst[i] = float32(sums[from+i])
			if c.mean {
				dst[i] = float32(sums[from+i] / float64(len(c.ranks)))
			}
		}
	}
	if !spec.Sparse {
		write(out.Gradient.Values, 0)
		return out
	}
	if err := out.Gradient.SetRows(len(rows)); err != nil {
		panic(err)
	}
	n := 0
	for row := range spec.TableRows {
		if rows[int32(row)] {
			out.Gradient.Rows[n] = int32(row)
			write(out.Gradient.Values[n*spec.Width:][:spec.Width], row*spec.Width)
			n++
		}
	}
	return out
}

func drawSpec(t *rapid.T) tensor.BucketSpec {
	if rapid.Bool().Draw(t, "sparse") {
		rows, width := rapid.IntRange(1, 60).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "width")
		return tensor.BucketSpec{Elements: rows * width, Sparse: true, TableRows: rows, Width: width, Capacity: rows}
	}
	return tensor.BucketSpec{Elements: rapid.IntRange(1, 2000).Draw(t, "elements")}
}

func drawExample(t *rapid.T) *example {
	mean, density := rapid.Bool().Draw(t, "mean"), rapid.SampledFrom([]float64{0.1, 0.5, 1}).Draw(t, "density")
	return exampleOf(density, mean, rapid.Int64Range(0, 1e6).Draw(t, "round"), rapid.IntRange(1, 5).Draw(t, "ranks"))
}

func TestWhatIsRightIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, c := drawSpec(t), drawExample(t)
		b := reduced(spec, c)
		if where, how := c.find(b); where != "" {
			t.Errorf("%s %s", where, how)
		}
	})
}

func TestEveryBitIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, c := drawSpec(t), drawExample(t)
		b := reduced(spec, c)
		if len(b.Gradient.Values) == 0 {
			t.Skip("no rows")
		}
		i := rapid.IntRange(0, len(b.Gradient.Values)-1).Draw(t, "element")
		bit := rapid.IntRange(0, 31).Draw(t, "bit")
		was := b.Gradient.Values[i]
		now := math.Float32frombits(math.Float32bits(was) ^ 1<<bit)
		if n := float32(len(c.ranks)); c.mean && (now == was*n*(1/n) || math.Abs(float64(now-was)) < 1e-4 && bit == 0) {
			t.Skip("the other way of dividing")
		}
		b.Gradient.Values[i] = now
		if where, _ := c.find(b); where == "" {
			t.Errorf("bit %d of element %d, which makes %v of %v, goes unnoticed", bit, i, now, was)
		}
	})
}

func TestRowsAreNoticed(t *testing.T) {
	spec := tensor.BucketSpec{Elements: 40, Sparse: true, TableRows: 20, Width: 2, Capacity: 20}
	c := exampleOf(0.5, false, 3, 2)
	change := func(edit func(g *tensor.Gradient)) string {
		b := reduced(spec, c)
		edit(&b.Gradient)
		where, how := c.find(b)
		return where + " " + how
	}
	remove := func(n int) func(*tensor.Gradient) {
		return func(g *tensor.Gradient) {
			copy(g.Rows[n:], g.Rows[n+1:])
			copy(g.Values[2*n:], g.Values[2*n+2:])
			must(t, g.SetRows(len(g.Rows)-1))
		}
	}
	full := reduced(spec, c).Gradient
	last := len(full.Rows) - 1
	free := int32(0)
	for int(free) < len(full.Rows) && full.Rows[free] == free {
		free++
	}
	for name, test := range map[string]struct {
		edit func(*tensor.Gradient)
		want string
	}{
		"the first is missing": {remove(0), "is missing"},
		"the last is missing":  {remove(last), "is missing"},
		"one more at the end": {func(g *tensor.Gradient) {
			must(t, g.SetRows(last+2))
			g.Rows[last+1] = 19
			if full.Rows[last] == 19 {
				t.Fatal("the example has the last row")
			}
		}, "row 19 is unexpected: no rank has it"},
		"one more between": {func(g *tensor.Gradient) {
			must(t, g.SetRows(last+2))
			copy(g.Rows[free+1:], g.Rows[free:])
			copy(g.Values[2*free+2:], g.Values[2*free:])
			g.Rows[free] = free
		}, "is unexpected: no rank has it"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := change(test.edit); !strings.Contains(got, test.want) {
				t.Errorf("%s: %q", name, got)
			}
		})
	}
}

// If a rank keeps values of another round or place, nearly all of them are
// wrong.
func TestValuesDiffer(t *testing.T) {
	const n = 10000
	at := func(key uint64, i int) int32 { return valueOf(key, uint64(i)*stride) }
	key := keyOf(1, 5)
	for name, other := range map[string]func(i int) int32{
		"another rank":     func(i int) int32 { return at(keyOf(0, 5), i) },
		"the round before": func(i int) int32 { return at(keyOf(1, 4), i) },
		"the next element": func(i int) int32 { return at(key, i+1) },
		"the next page":    func(i int) int32 { return at(key, i+1024) },
		"the next chunk":   func(i int) int32 { return at(key, i+comm.ChunkElements) },
	} {
		t.Run(name, func(t *testing.T) {
			same := 0
			for i := range n {
				v := at(key, i)
				if v < -1024 || v > 1023 {
					t.Fatalf("value %d is %d", i, v)
				}
				if v == other(i) {
					same++
				}
			}
			if same > n/200 {
				t.Errorf("%s: %d of %d values agree", name, same, n)
			}
		})
	}
}

func TestDensityOfRows(t *testing.T) {
	const rows = 100000
	for _, density := range []float64{0.01, 0.5, 0.9, 1} {
		t.Run(fmt.Sprint(density), func(t *testing.T) {
			n := 0
			for row := range rows {
				if hasRow(keyOf(2, 9), row, rowChance(density)) {
					n++
				}
			}
			if got := float64(n) / rows; math.Abs(got-density) > 0.01 {
				t.Errorf("density %v gives %v", density, got)
			}
		})
	}
}

func BenchmarkMismatch(b *testing.B) {
	spec := tensor.BucketSpec{Elements: 1 << 20}
	c := exampleOf(1, true, 1, 2)
	bucket := reduced(spec, c)
	b.SetBytes(4 << 20)
	for b.Loop() {
		if where, how := c.find(bucket); where != "" {
			b.Fatal(where, how)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	bucket, values := tensor.NewBucket(tensor.BucketSpec{Elements: 1 << 20}), NewValues(1, false)
	b.SetBytes(4 << 20)
	for b.Loop() {
		must(b, values.Fill(bucket, 0, 1))
	}
}

// A wrong bit in any element of any type is found; bits behind the last element are of no account.
func TestTypedValues(t *testing.T) {
	for _, typ := range tensor.Types[1:] {
		t.Run(string(typ), func(t *testing.T) {
			spec := tensor.BucketSpec{Elements: 37, Type: typ}
			b, v := tensor.NewBucket(spec), NewValues(1, false)
			v.Narrow(typ, 3)
			must(t, v.Fill(b, 1, 5))
			parts := []Part{{To: spec.Elements, Ranks: []int{1}}}
			if where, how := v.Mismatch(b, 5, parts); where != "" {
				t.Fatalf("%s %s", where, how)
			}
			memory := tensor.Float32Bytes(b.Gradient.Values)
			for i := range memory {
				memory[i] ^= 1
				where, _ := v.Mismatch(b, 5, parts)
				if want := fmt.Sprintf("element %d", i/typ.Bytes()); i < 37*typ.Bytes() && where != want ||
					i >= 37*typ.Bytes() && where != "" {
					t.Errorf("a bit of byte %d flips and the first mismatch is %q", i, where)
				}
				memory[i] ^= 1
			}
		})
	}
}

// Sums over all ranks, and means where there are some, are exact in the type.
func TestTypedSumsAreExact(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 7, 31} {
		for _, typ := range []tensor.Type{tensor.Float16, tensor.BFloat16, tensor.Int32, tensor.Int64} {
			t.Run(fmt.Sprint(typ, ranks), func(t *testing.T) {
				spec := tensor.BucketSpec{Elements: 999, Type: typ}
				sum, v := tensor.NewBucket(spec), NewValues(1, false)
				v.Narrow(typ, ranks)
				part, all := tensor.NewBucket(spec), []Part{{To: spec.Elements}}
				for rank := range ranks {
					must(t, v.Fill(part, rank, 9))
					typ.Arithmetic().Add(sum.Gradient.Values, part.Gradient.Values)
					all[0].Ranks = append(all[0].Ranks, rank)
				}
				if where, how := v.Mismatch(sum, 9, all); where != "" {
					t.Errorf("%s %s", where, how)
				}
			})
		}
	}
}
