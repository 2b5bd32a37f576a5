package breakdown

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

func TestDevices(t *testing.T) {
	r := &result.Result{}
	series(r, 0, 0, 1, []lane{{0, 10, 40, 50, 0, 0}})
	series(r, 1, 0, 1, []lane{{0, 10, 40, 50, 0, 0}}) // not on a device
	r.Processes = append(r.Processes, result.Process{Rank: 2, Name: "server0", Kind: "server"})
	add := func(rank int, name string, from, to int64) {
		r.SeriesOf(rank, DeviceMetric, name).Add(sdk.Measurement{StartNS: from, DurationNS: to - from})
	}
	add(0, "device iteration", 5, 70) // contains its phases
	add(0, "device forward", 5, 15)
	add(0, "device transfer in", 5, 8) // within the forward pass
	add(0, "device backward", 20, 50)
	add(0, "device exchange", 50, 70) // no kernels of its own
	add(0, "device sum", 30, 35)      // during the backward pass
	add(0, "device sum", 60, 64)
	add(0, "device copy out", 40, 45)
	add(0, "device copy out", 44, 60)
	add(0, "device copy out", 95, 120) // the end lies outside all iterations
	add(2, "device copy in", 45, 60)
	add(2, "device average", 60, 70)
	add(2, "device update", 60, 90)
	want := []Device{
		{Rank: 0, Name: "trainer0", Iterations: 1, WallNS: 100, KernelsNS: 41, CopiesNS: 28, BothNS: 10, WaitingNS: 41},
		{Rank: 2, Name: "server0", Iterations: 1, WallNS: 100, KernelsNS: 10, CopiesNS: 15, WaitingNS: 75},
	}
	if d := cmp.Diff(want, Devices(r)); d != "" {
		t.Error(d)
	}
}

// The sums that are computed from the ends of spans equal the sums from counting each nanosecond.
func TestDeviceLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const until = 60
		draw := func(name string) (in [until]bool, spans []span) {
			for range rapid.IntRange(0, 6).Draw(t, name) {
				from := rapid.Int64Range(0, until-1).Draw(t, "from")
				to := rapid.Int64Range(from, until).Draw(t, "to")
				spans = append(spans, span{from, to})
				for i := from; i < to; i++ {
					in[i] = true
				}
			}
			return in, union(spans)
		}
		within, w := draw("within")
		kernels, k := draw("kernels")
		between, b := draw("transfers")
		copies, c := draw("copies")
		var got, want Device
		got.divide(w, k, b, union(append(c, b...)))
		for i := range until {
			if !within[i] {
				continue
			}
			kernel, copied := kernels[i] && !between[i], copies[i] || between[i]
			for _, one := range []struct {
				is bool
				ns *int64
			}{{true, &want.WallNS}, {kernel, &want.KernelsNS}, {copied, &want.CopiesNS},
				{kernel && copied, &want.BothNS}, {!kernel && !copied, &want.WaitingNS}} {
				if one.is {
					*one.ns++
				}
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}
