package packed

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sameBits reports whether two observations are equal to the last bit, NaN included.
func sameBits(a, b Observation) bool {
	return a.A == b.A && a.B == b.B && math.Float64bits(a.Value) == math.Float64bits(b.Value)
}

// anyObservations draws arbitrary keys and numbers.
func anyObservations(t *rapid.T) []Observation {
	var out []Observation
	last := Measurement{}
	for range rapid.IntRange(0, 50).Draw(t, "observations") {
		last = anyMeasurement(t, last) // only its key is used
		value := rapid.OneOf(
			rapid.Float64(), rapid.Map(rapid.Uint64(), math.Float64frombits),
			rapid.Map(rapid.IntRange(-1000, 1000), func(n int) float64 { return float64(n) }),
			rapid.SampledFrom([]float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)}),
		).Draw(t, "value")
		out = append(out, Observation{last.A, last.B, value})
	}
	return out
}

// All observed numbers survive packing, also by way of their bytes.
func TestObservationsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyObservations(t)
		var l List[Observation]
		for _, o := range want {
			l.Add(o)
		}
		if got := slices.Collect(l.All()); !slices.EqualFunc(got, want, sameBits) || l.Len() != len(want) {
			t.Fatalf("%d observations:\n%s", l.Len(), cmp.Diff(want, got))
		}
		for _, c := range l.Chunks() {
			again, err := ChunkOf[Observation](c.Bytes())
			if implausible := slices.ContainsFunc(want,
				func(o Observation) bool { return !o.Plausible() }); (err != nil) != implausible {
				t.Fatal(err)
			} else if err == nil && !slices.EqualFunc(slices.Collect(again.All()), want, sameBits) {
				t.Fatal(cmp.Diff(want, slices.Collect(again.All())))
			}
		}
	})
}

// Small whole numbers take 2 to 4 bytes, any others 9.
func TestBytesOfAnObservation(t *testing.T) {
	for value, want := range map[float64]int{0: 1, 1: 3, -2: 2, 3: 3, 255: 4, 0.1: 9, 1e300: 9} {
		t.Run(fmt.Sprint(value), func(t *testing.T) {
			var l List[Observation]
			l.Add(Observation{0, 1, value})
			if got := len(l.Chunks()[0].Bytes()); got != want {
				t.Errorf("%g takes %d bytes, want %d", value, got, want)
			}
		})
	}
}

// Invalid chunks are refused, and valid ones can be packed again.
func FuzzObservationsOf(f *testing.F) {
	var l List[Observation]
	for i := range int64(3) {
		l.Add(Observation{i, -i, 1.5 * float64(i)})
	}
	f.Add(l.Chunks()[0].Bytes())
	f.Add([]byte{8 << 2, 0xff})
	f.Add([]byte{9 << 2, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ChunkOf[Observation](data)
		if err != nil {
			return
		}
		var again List[Observation]
		for o := range c.All() {
			again.Add(o)
		}
		if again.Len() != c.Len() || c.Len() > len(data) ||
			!slices.EqualFunc(slices.Collect(again.All()), slices.Collect(c.All()), sameBits) {
			t.Fatalf("% x has %d observations, and again %d", data, c.Len(), again.Len())
		}
	})
}

func TestObservationsThatCannotBe(t *testing.T) {
	for i, c := range []struct {
		data []byte
		want string
	}{
		{[]byte{8 << 2, 0xff}, "measurement 0 is cut off"},
		{[]byte{0, 9 << 2, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "measurement 1 is cut off"},
		{[]byte{anyKey, 0xff}, "measurement 0 is cut off"},
		{[]byte{anyKey, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0},
			"measurement 0 has a number beyond 2^61"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if _, err := ChunkOf[Observation](c.data); err == nil || err.Error() != c.want {
				t.Errorf("% x: %v, want %s", c.data, err, c.want)
			}
		})
	}
}
