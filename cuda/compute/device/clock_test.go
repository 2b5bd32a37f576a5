//go:build nvidia

package device_test

import (
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/sdk"
)

// Phases are measured once they have ended, on the clock of the process, but for those of evaluations.
func TestPhasesAreMeasured(t *testing.T) {
	d := computetest.Open(t)
	recorder := &sdk.Recorder{}
	d.Measure(recorder)
	x := computetest.In(t, d, make([]float32, 5000))
	phase := func(p device.Phase) {
		d.Begin(p)
		d.Compute().Queue.Scale(1, x)
		d.End(p)
	}
	loss := func() {
		phase(device.Forward)
		phase(device.Loss)
		must(t, d.Compute().Stream.Synchronize())
		must(t, d.Read(true))
	}
	for pass := range 2 {
		recorder.Reset()
		must(t, d.BeginPass())
		start := comm.Now()
		const iterations = 20
		for i := range iterations {
			for range i % 3 { // evaluations
				loss()
			}
			loss()
			phase(device.Backward)
			must(t, d.Compute().Stream.Synchronize())
			must(t, d.Read(false))
			phase(device.Step)
		}
		must(t, d.Compute().Stream.Synchronize())
		end := comm.Now()
		must(t, recorder.Err())
		var errNS int64
		all := recorder.All()
		all.Gauges[0].Each(func(_ sdk.Key, us float64) { errNS = max(errNS, int64(us*1000)) })
		if errNS == 0 {
			t.Fatal("no error of the clock is told")
		}
		for _, s := range all.Series {
			want, n, last := iterations, 0, start
			if s.Name == "device optimizer" {
				want-- // the last one is read in the next iteration
			}
			s.Each(func(m sdk.Measurement) {
				if m.Key.A != int64(n) || m.StartNS < last-errNS || m.DurationNS < 0 || m.StartNS+m.DurationNS > end+errNS {
					t.Errorf("pass %d, %s: span %v of iteration %d is not from %d to %d, give or take %d", pass, s.Name, m, n, last, end, errNS)
				}
				last = m.StartNS + m.DurationNS
				n++
			})
			if n != want {
				t.Errorf("pass %d: %s has %d spans, want %d", pass, s.Name, n, want)
			}
		}
	}
}
