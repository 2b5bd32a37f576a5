package sdk

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestNumbersAreKeptUntilReset(t *testing.T) {
	r := &Recorder{}
	sent, stale, sizes := r.Counter("push", "sent", "B"), r.Gauge("push", "staleness", "steps"), r.Histogram("push",
		"rows", "rows", 1, 10)
	if r.Counter("push", "sent", "B") != sent || r.Gauge("push", "staleness", "steps") != stale ||
		r.Histogram("push", "rows", "rows", 1, 10) != sizes {
		t.Error("what was made is not found")
	}
	for range 2 {
		sent.Add(3)
		sent.Add(0)
		sent.Add(4)
		for i, x := range []float64{2, math.NaN(), 0.5, math.Inf(-1)} {
			stale.Record(Key{1, int64(i)}, x)
		}
		for _, x := range []float64{math.Inf(-1), 1, 1.5, 10, 11, math.Inf(1), math.NaN()} {
			sizes.Record(x)
		}
		var got []float64
		stale.Each(func(k Key, x float64) {
			if k != (Key{1, int64(len(got))}) {
				t.Errorf("observation %d has key %v", len(got), k)
			}
			got = append(got, x)
		})
		if d := cmp.Diff([]float64{2, math.NaN(), 0.5, math.Inf(-1)}, got, cmpopts.EquateNaNs()); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]int64{2, 2, 2}, sizes.Counts()); d != "" {
			t.Error(d)
		}
		all := r.All()
		if sent.Value() != 7 || all.Counters[0].Value != 7 || all.Histograms[0].NaN != 1 || len(all.Gauges) != 1 ||
			len(all.Series) != 0 {
			t.Errorf("%d was sent, all is %+v", sent.Value(), all)
		}
		r.Reset()
		stale.Each(func(k Key, x float64) { t.Errorf("%v %g is left after a reset", k, x) })
		if d := cmp.Diff([]int64{0, 0, 0}, sizes.Counts()); d != "" || sent.Value() != 0 ||
			r.All().Histograms[0].NaN != 0 {
			t.Errorf("after a reset there are %d and %s", sent.Value(), d)
		}
		if d := cmp.Diff([]int64{2, 2, 2}, all.Histograms[0].Counts); d != "" {
			t.Error("a snapshot changes with what it is of")
		}
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

// In the steady state, recording a number of any kind allocates nothing.
func TestRecordingNumbersAllocatesNothing(t *testing.T) {
	r := &Recorder{}
	c, g, h := r.Counter("a", "c", "B"), r.Gauge("a", "g", "1"), r.Histogram("a", "h", "1", 1, 2, 4, 8)
	pass := func() {
		r.Reset()
		for i := range many {
			c.Add(int64(i))
			g.Record(Key{A: int64(i)}, 1/float64(1+i))
			h.Record(float64(i % 16))
		}
	}
	pass()
	reset := testing.AllocsPerRun(5, r.Reset) // the list of metrics to reset
	if n := testing.AllocsPerRun(5, pass); n > reset {
		t.Errorf("a second pass allocates %v times beside its reset", n-reset)
	}
}

// An invalid value gives an error of one sentence and does not affect other values.
func TestWhatCannotBeRecorded(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for want, declare := range map[string]func(r *Recorder){
		`it records gauge a, b in steps, and also gauge a, b in rows: give one of them another name`: func(r *Recorder) {
			r.Gauge("a", "b", "steps").Record(Key{}, 1)
			r.Gauge("a", "b", "rows").Record(Key{}, 1)
		},
		`it records gauge a, b in B, and also counter a, b in B: give one of them another name`: func(r *Recorder) {
			r.Gauge("a", "b", "B")
			r.Counter("a", "b", "B").Add(1)
		},
		`it records series a, b, and also gauge a, b in ms: give one of them another name`: func(r *Recorder) {
			r.Series("a", "b")
			r.Gauge("a", "b", "ms")
		},
		`it records counter a, b in B, and also series a, b: give one of them another name`: func(r *Recorder) {
			r.Counter("a", "b", "B")
			r.Series("a", "b").Record(Key{}, 0, 1)
		},
		`it records histogram a, b in 1 with 2 bounds from 1 to 3, and also histogram a, b in 1 with 3 bounds from 1 to 3: give one of them another name`: func(r *Recorder) {
			r.Histogram("a", "b", "1", 1, 3)
			r.Histogram("a", "b", "1", 1, 2, 3).Record(2)
		},
		`it records gauge a, b: unit "two words" must be a short word such as 1, B, rows, steps or %: at most 12 letters, digits and % / ^ _ -`: func(r *Recorder) {
			r.Gauge("a", "b", "two words").Record(Key{}, 1)
		},
		`it records counter a, b: unit "" must be`:                                                   func(r *Recorder) { r.Counter("a", "b", "").Add(1) },
		`it records gauge a, b: unit "thirteenrunes" must be`:                                        func(r *Recorder) { r.Gauge("a", "b", "thirteenrunes") },
		`it records gauge a, b: unit "\x1b[31m" must be`:                                             func(r *Recorder) { r.Gauge("a", "b", "\x1b[31m") },
		`it records gauge a, b: unit "\xff" must be`:                                                 func(r *Recorder) { r.Gauge("a", "b", "\xff") },
		`it records histogram a, b: bound 2 is 2, but bounds must ascend and the one before it is 2`: func(r *Recorder) { r.Histogram("a", "b", "1", 1, 2, 2).Record(3) },
		`it records histogram a, b: bound 1 is NaN, but must be finite`:                              func(r *Recorder) { r.Histogram("a", "b", "1", 1, math.NaN()).Record(3) },
		`it records histogram a, b: it has 0 bounds, but must have 1 to 1000`:                        func(r *Recorder) { r.Histogram("a", "b", "1").Record(3) },
		`it adds -1 to counter a, b in rows: a counter cannot shrink, so use a gauge`:                func(r *Recorder) { r.Counter("a", "b", "rows").Add(-1) },
		`it adds 1 to counter a, b in rows, which is 9007199254740992: the sum must be at most 2^53`: func(r *Recorder) {
			c := r.Counter("a", "b", "rows")
			c.Add(1 << 53)
			for _, n := range []int64{0, 1, math.MaxInt64} {
				if c.Add(n); c.Value() != 1<<53 {
					t.Errorf("the sum is %d", c.Value())
				}
			}
		},
		`it adds 9223372036854775807 to counter a, b in B, which is 1: the sum must be at most 2^53`: func(r *Recorder) {
			c := r.Counter("a", "b", "B")
			c.Add(1)
			c.Add(math.MaxInt64)
		},
		`it adds -9 to counter a, b in rows: a counter cannot shrink, so use a gauge`: func(r *Recorder) {
			c := r.Counter("a", "b", "rows")
			c.Add(-9)
			c.Add(-8)
		},
		`it records histogram "\x1b", b: type "\x1b" must be 1 to 100 letters, digits and signs, without commas, control characters and spaces at its ends`: func(r *Recorder) {
			r.Histogram("\x1b", "b", "1", 10, 1)
		},
		`it records gauge a, "": name "" must be 1 to 100`:   func(r *Recorder) { r.Gauge("a", "", "1") },
		`it records series "", b: type "" must be 1 to 100`:  func(r *Recorder) { r.Series("", "b") },
		`it records series "a\xff", b: type "a\xff" must be`: func(r *Recorder) { r.Series("a\xff", "b") },
		`it records series a, "b\nc": name "b\nc" must be`: func(r *Recorder) {
			r.Series("a", "b\nc").Record(Key{}, 0, 1)
		},
		`it records counter a, b,c: name "b,c" must be`: func(r *Recorder) {
			r.Counter("a", "b,c", "1").Add(1)
		},
		`it records counter a, " b": name " b" must be`: func(r *Recorder) {
			r.Counter("a", " b", "1").Add(1)
		},
		`it records counter a, "b\u202e": name "b\u202e" must be`: func(r *Recorder) {
			r.Counter("a", "b\u202e", "1").Add(1)
		},
		`it records series a, ` + long[:101] + `: name "` + long[:101]: func(r *Recorder) { r.Series("a", long[:101]) },
		`it records series a, "` + long[:200] + `"... (10000 bytes): name "` + long[:200] +
			`"... (10000 bytes) must be`: func(r *Recorder) {
			r.Series("a", long)
		},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			r := &Recorder{}
			declare(r)
			if err := r.Err(); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			r.Reset()
			r.All()
		})
	}
	for _, name := range []string{"x", strings.Repeat("ä", 100), "rows of a push", "bytes/s (95 %)"} {
		t.Run(name, func(t *testing.T) {
			r := &Recorder{}
			if r.Series(name, name); r.Err() != nil {
				t.Error(r.Err())
			}
		})
	}
	for _, unit := range []string{"1", "B", "%", "MiB/s", "µs", "rows", "m^2", "per-step"} {
		t.Run(unit, func(t *testing.T) {
			r := &Recorder{}
			if r.Gauge("a", "b", unit); r.Err() != nil {
				t.Error(r.Err())
			}
		})
	}
}

// Snapshots of every kind of metric are consistent while recording continues.
func TestNumbersOfOneMoment(t *testing.T) {
	const many = 2000
	r := &Recorder{}
	series, counter, gauge, histogram := r.Series("a", "s"), r.Counter("a", "c", "1"), r.Gauge("a", "g",
		"1"), r.Histogram("a", "h", "1", 1)
	var group sync.WaitGroup
	group.Go(func() {
		for i := range int64(many) {
			series.Record(Key{A: i}, i, i)
			counter.Add(1)
			gauge.Record(Key{A: i}, 1)
			histogram.Record(2)
		}
	})
	for n := int64(0); n < many; {
		all := r.All()
		counts := []int64{0, all.Counters[0].Value, 0, all.Histograms[0].Counts[1]}
		all.Series[0].Each(func(Measurement) { counts[0]++ })
		all.Gauges[0].Each(func(Key, float64) { counts[2]++ })
		n = counts[3]
		for i, c := range counts[1:] {
			if c > counts[i] || counts[0]-c > 1 {
				t.Fatalf("at one moment there are %v", counts)
			}
		}
	}
	group.Wait()
}
