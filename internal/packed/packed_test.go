package packed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyMeasurement draws either a successor of last that packs well, or an arbitrary measurement.
func anyMeasurement(t *rapid.T, last Measurement) Measurement {
	n := rapid.Int64()
	m := Measurement{n.Draw(t, "a"), n.Draw(t, "b"), n.Draw(t, "start"), n.Draw(t, "duration")}
	switch rapid.IntRange(0, 4).Draw(t, "key") {
	case 0:
		m.A, m.B = last.A, last.B+1
	case 1:
		m.A, m.B = last.A+1, 0
	case 2:
		m.A, m.B = last.A+1, last.B
	case 3:
		m.A, m.B = last.A+rapid.Int64Range(-3, 3).Draw(t, "a"), last.B+rapid.Int64Range(-3, 3).Draw(t, "b")
	}
	if rapid.Bool().Draw(t, "near") {
		m.StartNS = last.StartNS + int64(1)<<rapid.IntRange(0, 40).Draw(t, "bits") - 1
	}
	if rapid.Bool().Draw(t, "short") {
		m.DurationNS = int64(1)<<rapid.IntRange(0, 40).Draw(t, "bits") - 1
	}
	return m
}

// All measurements survive packing, also by way of their bytes.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []Measurement
		var l List[Measurement]
		for range rapid.IntRange(0, 50).Draw(t, "measurements") {
			var last Measurement
			if len(want) > 0 {
				last = want[len(want)-1]
			}
			want = append(want, anyMeasurement(t, last))
			l.Add(want[len(want)-1])
		}
		if got := slices.Collect(l.All()); !slices.Equal(got, want) || l.Len() != len(want) {
			t.Fatalf("%d measurements:\n%s", l.Len(), cmp.Diff(want, got))
		}
		for _, c := range l.Chunks() {
			again, err := ChunkOf[Measurement](c.Bytes())
			if implausible := slices.ContainsFunc(want,
				func(m Measurement) bool { return !m.Plausible() }); (err != nil) != implausible {
				t.Fatal(err)
			} else if err == nil && !slices.Equal(slices.Collect(again.All()), want) {
				t.Fatal(cmp.Diff(want, slices.Collect(again.All())))
			}
		}
	})
}

func TestPlausible(t *testing.T) {
	for x, want := range map[int64]bool{0: true, 1 << 61: true, -1 << 61: true, 1<<61 + 1: false, -1<<61 - 1: false,
		math.MaxInt64: false, math.MinInt64: false} {
		t.Run(fmt.Sprint(x), func(t *testing.T) {
			for _, m := range []Measurement{{A: x}, {B: x}, {StartNS: x}, {DurationNS: x}} {
				if m.Plausible() != want {
					t.Errorf("%+v: %v", m, !want)
				}
			}
		})
	}
}

// Invalid chunks are refused, and valid ones can be packed again.
func FuzzChunkOf(f *testing.F) {
	var l List[Measurement]
	for i := range int64(3) {
		l.Add(Measurement{i, -i, i << 40, i << 20})
	}
	f.Add(l.Chunks()[0].Bytes())
	f.Add([]byte{0xff})
	f.Add([]byte{0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ChunkOf[Measurement](data)
		if err != nil {
			return
		}
		var again List[Measurement]
		for m := range c.All() {
			again.Add(m)
		}
		if again.Len() != c.Len() || c.Len() > len(data) ||
			!slices.Equal(slices.Collect(again.All()), slices.Collect(c.All())) {
			t.Fatalf("% x has %d measurements, and again %d", data, c.Len(), again.Len())
		}
	})
}

func TestShifted(t *testing.T) {
	var l List[Measurement]
	for i := range int64(3) {
		l.Add(Measurement{A: i, StartNS: 1000 + i, DurationNS: 5})
	}
	var got List[Measurement]
	got.Append(Shifted(l.Chunks()[0], -1000))
	got.Add(Measurement{A: 3, StartNS: 3, DurationNS: 5}) // does not touch the chunk's bytes
	for want := range int64(4) {
		if m := slices.Collect(got.All())[want]; m != (Measurement{want, 0, want, 5}) {
			t.Errorf("number %d is %+v", want, m)
		}
	}
	if l.Len() != 3 || got.Len() != 4 {
		t.Errorf("there are %d and %d", l.Len(), got.Len())
	}
}

// trained returns the measurements of a series with n iterations, each of the given number of parts. The times vary
// as in a run.
func trained(n, parts int, iterationNS float64) []Measurement {
	rnd := rand.New(rand.NewPCG(1, 2))
	at, out := 1e15, []Measurement(nil)
	for i := range n {
		whole := iterationNS * math.Exp(0.2*rnd.NormFloat64())
		for part := range parts {
			start := at + whole*float64(part)/float64(parts)
			out = append(out,
				Measurement{int64(i / 10), int64(i % 10), int64(start), int64(whole / float64(parts) * rnd.Float64())})
			if parts > 1 {
				out[len(out)-1].A, out[len(out)-1].B = int64(i), int64(part)
			}
		}
		at += whole * (1 + 0.1*rnd.Float64())
	}
	return out
}

// Iterations of 20 µs to 12 ms take 4 to 7 bytes a measurement, and of 50 ms 8.
func TestBytesOfAMeasurement(t *testing.T) {
	for _, c := range []struct {
		parts       int
		iterationNS float64
		least, most float64
	}{{1, 20e3, 4, 5}, {3, 20e3, 4, 5}, {1, 300e3, 5, 6.5}, {3, 300e3, 5, 6}, {1, 12e6, 6, 7.5}, {3, 12e6, 6, 7.5},
		{1, 50e6, 7, 8}} {
		t.Run(fmt.Sprint(c.parts), func(t *testing.T) {
			var l List[Measurement]
			for _, m := range trained(20_000, c.parts, c.iterationNS) {
				l.Add(m)
			}
			total := 0
			for _, chunk := range l.Chunks() {
				total += len(chunk.Bytes())
			}
			if each := float64(total) / float64(l.Len()); each < c.least || each > c.most {
				t.Errorf("%d parts of iterations of %g ns take %.2f bytes each, want %g to %g", c.parts, c.iterationNS,
					each, c.least, c.most)
			}
		})
	}
}

// A second pass with slightly different values needs no more memory. A snapshot keeps the values recorded before
// it.
func TestStorageIsKept(t *testing.T) {
	var l List[Measurement]
	measurements := trained(50_000, 1, 1e6)
	l.Reset()
	for _, m := range measurements {
		l.Add(m)
	}
	for i := range measurements {
		measurements[i].DurationNS = measurements[i].DurationNS * 21 / 20
	}
	if n := testing.AllocsPerRun(3, func() {
		for _, m := range measurements {
			l.Add(m)
		}
	}); n < 1 {
		t.Errorf("a pass of twice the length allocates %v times", n)
	}
	l.Reset()
	pass := func() {
		for _, m := range measurements {
			l.Add(m)
		}
		l.Reset()
	}
	pass()
	if n := testing.AllocsPerRun(5, pass); n != 0 {
		t.Errorf("a second pass allocates %v times", n)
	}
	for _, m := range measurements[:100] {
		l.Add(m)
	}
	before := l.Snapshot()
	for _, m := range measurements {
		l.Add(m)
	}
	before.Add(Measurement{A: 7}) // must not overwrite the snapshot's bytes
	if got := slices.Collect(before.All()); !slices.Equal(got[:100], measurements[:100]) || got[100].A != 7 ||
		len(got) != 101 {
		t.Errorf("the snapshot has %d measurements", len(got))
	}
	if got := slices.Collect(l.All()); !slices.Equal(got[100:], measurements) {
		t.Error("an addition to the snapshot changed the list")
	}
}
