//go:build nvidia

package device_test

import (
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Phases are recorded once they have ended, in the time of the process's clock. Phases of evaluations are not.
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
		recorder.Reset() // a trainer's host resets after the trainer
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
		must(t, d.EndPass()) // the stream has no work left
		must(t, recorder.Err())
		var errNS int64
		all := recorder.All()
		all.Gauges[0].Each(func(_ sdk.Key, us float64) { errNS = max(errNS, int64(us*1000)) })
		if errNS == 0 {
			t.Fatal("no error of the clock is told")
		}
		for _, s := range all.Series {
			if strings.HasPrefix(s.Name, "device copy") {
				continue
			}
			n, last := 0, start
			s.Each(func(m sdk.Measurement) {
				if m.Key.A != int64(n) || m.StartNS < last-errNS || m.DurationNS < 0 ||
					m.StartNS+m.DurationNS > end+errNS {
					t.Errorf("pass %d, %s: span %v of iteration %d is not from %d to %d, give or take %d", pass, s.Name,
						m, n, last, end, errNS)
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

// Copies and transfers are also recorded, by iteration and number within the iteration, in the time of the
// process's clock.
func TestCopiesAreMeasured(t *testing.T) {
	d := computetest.Open(t)
	recorder := &sdk.Recorder{}
	d.Measure(recorder)
	memory := computetest.In(t, d, make([]float32, 5000))
	host := make([]byte, 4*len(memory))
	sent, err := device.NewTransfer[float32](d, d.Compute())
	must(t, err)
	bytes := tensor.Float32Bytes(memory)
	for pass := range 2 {
		must(t, d.Wait(d.CopyOut(host, bytes))) // belongs to no pass
		must(t, d.BeginPass())
		recorder.Reset()
		start := comm.Now()
		const iterations, copies = 3, 4
		for range iterations {
			d.Begin(device.Forward)
			_, err := sent.Put(make([]float32, 7))
			must(t, err)
			d.Compute().Queue.Scale(1, memory)
			d.End(device.Forward)
			_, err = sent.Fetch(memory[:7])
			must(t, err)
			must(t, d.Read(true))
			d.Begin(device.Backward)
			d.End(device.Backward)
			d.Begin(device.Step)
			d.Compute().Queue.Scale(1, memory)
			d.End(device.Step)
			must(t, d.Read(false)) // leaves work unread that has not ended
			var out engine.Ticket
			for range copies {
				out = d.CopyOut(host, bytes)
			}
			must(t, d.Wait(out))
			for range copies {
				must(t, d.Wait(d.CopyIn(bytes, host)))
			}
		}
		must(t, d.Compute().Stream.Synchronize())
		must(t, d.EndPass())
		end := comm.Now()
		all := recorder.All()
		errNS := int64(0)
		all.Gauges[0].Each(func(_ sdk.Key, us float64) { errNS = max(errNS, int64(us*1000)+1) })
		each := map[string]int{"device copy out": copies, "device copy in": copies, "device transfer in": 1,
			"device transfer out": 1}
		for _, s := range all.Series {
			n, last := 0, start
			s.Each(func(m sdk.Measurement) {
				in := each[s.Name]
				if in == 0 {
					return
				}
				if want := (sdk.Key{A: int64(n / in), B: int64(n % in)}); m.Key != want {
					t.Errorf("pass %d: %s has key %v, want %v", pass, s.Name, m.Key, want)
				}
				if m.StartNS < last-errNS || m.DurationNS <= 0 || m.StartNS+m.DurationNS > end+errNS {
					t.Errorf("pass %d: %s %v is not from %d to %d, give or take %d", pass, s.Name, m, last, end, errNS)
				}
				last = m.StartNS
				n++
			})
			if want := iterations * each[s.Name]; each[s.Name] > 0 && n != want {
				t.Errorf("pass %d: %s has %d spans, want %d", pass, s.Name, n, want)
			}
			delete(each, s.Name)
		}
		if len(each) > 0 {
			t.Errorf("pass %d: there are no %v", pass, each)
		}
	}
}

// The reported clock error includes the drift until the next setting. The drift here is 2 in 100.
func TestClockErrorCountsDrift(t *testing.T) {
	computetest.OnDouble(t)
	computetest.Alone(t, func(t *testing.T) {
		d := computetest.Open(t)
		recorder := &sdk.Recorder{}
		d.Measure(recorder)
		x := computetest.In(t, d, make([]float32, 5))
		must(t, d.BeginPass())
		recorder.Reset()
		const iterations = 4
		var around [iterations][2]int64 // the interval in which the host requested each step
		for i := range around {
			around[i][0] = comm.Now()
			d.Begin(device.Step)
			d.Compute().Queue.Scale(1, x)
			d.End(device.Step)
			must(t, d.Compute().Stream.Synchronize())
			around[i][1] = comm.Now()
			must(t, d.Read(true))
			time.Sleep(20 * time.Millisecond)
		}
		must(t, d.EndPass())
		all := recorder.All()
		offNS := int64(0)
		all.Gauges[0].Each(func(_ sdk.Key, us float64) { offNS = max(offNS, int64(us*1000)) })
		drift := (around[iterations-1][0] - around[0][1]) / 50
		if offNS < drift {
			t.Errorf("the clock drifts by %d ns at least, and is told to be %d off", drift, offNS)
		}
		for _, s := range all.Series {
			s.Each(func(m sdk.Measurement) {
				if at := around[m.Key.A]; m.StartNS < at[0]-offNS || m.StartNS+m.DurationNS > at[1]+offNS {
					t.Errorf("%s: %v is not from %d to %d, give or take %d", s.Name, m, at[0], at[1], offNS)
				}
			})
		}
	}, "PSBENCH_DOUBLE_CLOCK_PPM=20000")
}

// launched requires that each iteration has this many launches.
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

// The means before a server's step belong to its iteration, and each is measured.
func TestLaunchesOfMeans(t *testing.T) {
	d := computetest.Open(t)
	x, y := computetest.In(t, d, []float32{1, 2, 3}), computetest.In(t, d, []float32{3, 2, -1})
	recorder := &sdk.Recorder{}
	d.Measure(recorder)
	for range 2 {
		must(t, d.BeginPass())
		recorder.Reset()
		const iterations, means = 3, 2
		for range iterations {
			for range means {
				must(t, d.Mean(x, [][]float32{x, y}))
			}
			d.Begin(device.Step)
			d.Compute().Queue.Scale(2, x)
			d.End(device.Step)
		}
		must(t, d.Compute().Stream.Synchronize())
		must(t, d.EndPass())
		all := recorder.All()
		launched(t, &all.Gauges[1], iterations, means+1)
		n := 0
		for _, s := range all.Series {
			s.Each(func(m sdk.Measurement) {
				if want := (sdk.Key{A: int64(n / means), B: int64(n % means)}); s.Name == "device average" &&
					m.Key != want {
					t.Errorf("mean %d has key %v, want %v", n, m.Key, want)
				} else if s.Name == "device average" {
					n++
				}
			})
		}
		if n != iterations*means {
			t.Errorf("%d means are measured, want %d", n, iterations*means)
		}
	}
}

// If there is no forward pass, as in a server that holds the parameters, each step is an iteration. Launches of an
// evaluation after the last iteration count for none.
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
				if s.Name != "device optimizer" && s.Name != "device update" {
					t.Errorf("%s has span %v", s.Name, m)
				}
			})
		}
	}
}
