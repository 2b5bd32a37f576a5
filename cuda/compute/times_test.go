//go:build nvidia

package compute_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// measured requires three things of each trainer. The trainer measured every iteration's phases on its device with
// times above 0. The trainer counted its launches. The trainer recorded the error of its clock.
func measured(t *testing.T, r result, steps bool) {
	t.Helper()
	phases := []string{"device forward", "device loss", "device backward"}
	copied := []string{"device transfer in", "device transfer out"}
	if r.Processes[slices.IndexFunc(r.Processes, func(p process) bool {
		return strings.HasPrefix(p.Name, "trainer")
	})].Facts[record.FactBuckets] != record.BucketsShared {
		copied = append(copied, "device copy out", "device copy in")
	}
	if steps {
		phases = append(phases, "device optimizer")
	}
	for rank, losses := range r.Losses {
		for _, name := range phases {
			if n, total := spans(r, rank, name); n != len(losses) || total <= 0 {
				t.Errorf("trainer %d has %d spans of %q, of %d ns in all, in %d iterations", rank, n, name, total,
					len(losses))
			}
		}
		for _, name := range copied {
			if n, total := spans(r, rank, name); n < len(losses) || total <= 0 {
				t.Errorf("trainer %d has %d spans of %q, of %d ns in all, but each of %d iterations has one", rank, n,
					name, total, len(losses))
			}
		}
		if n := len(observed(r, rank, "launches")); n != len(losses) {
			t.Errorf("trainer %d counted the launches of %d iterations, of %d", rank, n, len(losses))
		}
		if us := observed(r, rank, "device clock error"); len(us) == 0 || slices.Min(us) <= 0 {
			t.Errorf("trainer %d says that its clock is off by %v µs", rank, us)
		}
	}
}

// spans returns the number and the total of a rank's measurements with a name.
func spans(r result, rank int, name string) (n int, totalNS int64) {
	for _, s := range r.Series {
		if s.Rank == rank && s.Name == name {
			for _, d := range s.DurationNS {
				n, totalNS = n+1, totalNS+d
			}
		}
	}
	return n, totalNS
}

// observed returns the values of a rank's gauge. All must be above 0.
func observed(r result, rank int, name string) []float64 {
	for _, g := range r.Gauges {
		if g.Rank == rank && g.Type == "device_metric" && g.Name == name && slices.Min(g.Value) > 0 {
			return g.Value
		}
	}
	return nil
}

// span is the interval of a measurement, in ns.
type span struct{ from, to int64 }

// keyed returns a rank's spans of some names by key.
func keyed(r result, rank int, names ...string) map[sdk.Key][]span {
	all := map[sdk.Key][]span{}
	for _, s := range r.Series {
		if s.Rank != rank || !slices.Contains(names, s.Name) {
			continue
		}
		var key sdk.Key
		var at int64
		for i, ns := range s.DurationNS {
			key.A, key.B, at = key.A+s.KeyA[i], key.B+s.KeyB[i], at+s.StartNS[i]
			all[key] = append(all[key], span{at, at + ns})
		}
	}
	return all
}

// within requires that device spans exist and lie after from and before the step of their iteration. The precision
// of the device's clock limits this check: its resolution is 2 µs at worst.
func within(t *testing.T, r result, rank int, what string, key sdk.Key, spans []span, from int64, step []span) {
	t.Helper()
	if len(spans) == 0 || len(step) != 1 {
		t.Errorf("rank %d has %d spans of a %s of %v, and %d of a step", rank, len(spans), what, key, len(step))
		return
	}
	errNS := 2000 + int64(1000*slices.Max(append(observed(r, rank, "device clock error"), 0)))
	for _, s := range spans {
		if s.from < from-errNS || s.to < s.from || s.to > step[0].from+errNS {
			t.Errorf(
				"rank %d has a %s of %v from %d to %d, which is not between %d and the step at %d, give or take %d",
				rank, what, key, s.from, s.to, from, step[0].from, errNS)
		}
	}
}

// sumsAreMeasured requires that each trainer measured exactly the sums of its groups on its device. Each sum lies
// between the handover of its bucket and the step.
func sumsAreMeasured(t *testing.T, r result) {
	t.Helper()
	for rank := range r.Losses {
		handed, sums := keyed(r, rank, "gloo_dense_allreduce", "gloo_sparse_allreduce"), keyed(r, rank, "device sum")
		steps := keyed(r, rank, "device optimizer")
		for key, calls := range handed {
			within(t, r, rank, "sum", key, sums[key], calls[0].from, steps[sdk.Key{A: key.A}])
		}
		if _, total := spans(r, rank, "device sum"); len(sums) != len(handed) || (len(sums) > 0) != (total > 0) {
			t.Errorf("trainer %d measured %d sums, of %d ns in all, and handed %d buckets over", rank, len(sums), total,
				len(handed))
		}
	}
}

// scattersAreMeasured requires that each table server measured, for every update and under its number, the scatter
// of gradients to rows before the step.
func scattersAreMeasured(t *testing.T, r result) {
	t.Helper()
	for rank := len(r.Losses); rank < len(r.Losses)+2; rank++ {
		scatters, steps := keyed(r, rank, "device scatter"), keyed(r, rank, "device optimizer")
		for key, step := range steps {
			within(t, r, rank, "scatter", key, scatters[key], 0, step)
		}
		updates, _ := spans(r, rank, "update")
		if n, total := spans(r, rank, "device scatter"); n != len(steps) || n != updates || n == 0 || total <= 0 {
			t.Errorf("server %d measured %d scatters, of %d ns in all, and %d steps, of %d updates", rank, n, total,
				len(steps), updates)
		}
	}
}
