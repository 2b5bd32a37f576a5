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
		must(t, d.BeginPass())
		recorder.Reset() // as a trainer's host does it, after the trainer
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
		must(t, d.EndPass())
		must(t, d.EndPass()) // which has nothing left to do
		must(t, recorder.Err())
		var errNS int64
		all := recorder.All()
		all.Gauges[0].Each(func(_ sdk.Key, us float64) { errNS = max(errNS, int64(us*1000)) })
		if errNS == 0 {
			t.Fatal("no error of the clock is told")
		}
		for _, s := range all.Series {
			n, last := 0, start
			s.Each(func(m sdk.Measurement) {
				if m.Key.A != int64(n) || m.StartNS < last-errNS || m.DurationNS < 0 || m.StartNS+m.DurationNS > end+errNS {
					t.Errorf("pass %d, %s: span %v of iteration %d is not from %d to %d, give or take %d", pass, s.Name, m, n, last, end, errNS)
				}
				last = m.StartNS + m.DurationNS
				n++
			})
			if n != iterations {
				t.Errorf("pass %d: %s has %d spans, want %d", pass, s.Name, n, iterations)
			}
		}
		launched(t, &all.Gauges[1], iterations, 4)
	}
}

// launched requires that each iteration has so many launches.
func launched(t *testing.T, g *sdk.Observations, iterations, each int) {
	t.Helper()
	n := 0
	g.Each(func(key sdk.Key, launches float64) {
		if key.A != int64(n) || launches != float64(each) {
			t.Errorf("iteration %v has %v launches, want %d", key, launches, each)
		}
		n++
	})
	if n != iterations || g.Name != "launches" {
		t.Errorf("there are %s of %d iterations, want %d", g.Name, n, iterations)
	}
}

// Where nothing goes forward, as in a server that holds the parameters, each step is an iteration; what an
// evaluation launches after the last one is in none.
func TestLaunchesOfStepsAndEvaluations(t *testing.T) {
	d := computetest.Open(t)
	recorder := &sdk.Recorder{}
	d.Measure(recorder)
	x := computetest.In(t, d, make([]float32, 5000))
	for range 2 {
		must(t, d.BeginPass())
		recorder.Reset()
		for range 3 {
			d.Begin(device.Step)
			d.Compute().Queue.Scale(1, x)
			d.Compute().Queue.Scale(1, x)
			d.End(device.Step)
		}
		must(t, d.Compute().Stream.Synchronize())
		must(t, d.EndPass())
		d.Begin(device.Forward)
		d.Compute().Queue.Scale(1, x)
		d.End(device.Forward)
		must(t, d.Compute().Stream.Synchronize())
		must(t, d.EndPass())
		all := recorder.All()
		launched(t, &all.Gauges[1], 3, 2)
		for _, s := range all.Series {
			s.Each(func(m sdk.Measurement) {
				if s.Name != "device optimizer" {
					t.Errorf("%s has span %v", s.Name, m)
				}
			})
		}
	}
}
