//go:build nvidia

package device_test

import (
	"slices"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/sdk"
)

// spans returns a recorder's measurements of a name, in order, with keys.
func spans(r *sdk.Recorder, name string) (all []sdk.Measurement) {
	for _, s := range r.All().Series {
		if s.Name == name {
			s.Each(func(m sdk.Measurement) { all = append(all, m) })
		}
	}
	return all
}

// within requires that spans have consecutive keys, and that number i lies in whole i.
func within(t *testing.T, what string, spans, wholes []sdk.Measurement, each int) {
	t.Helper()
	if len(spans) != each*len(wholes) {
		t.Fatalf("there are %d %s, want %d in each of %d", len(spans), what, each, len(wholes))
	}
	for i, s := range spans {
		if w := wholes[i/each]; s.StartNS < w.StartNS || s.StartNS+s.DurationNS > w.StartNS+w.DurationNS {
			t.Errorf("%s %v is not in %v", what, s, w)
		}
	}
}

// An iteration lasts from its first phase to the end of its step, or of its last work if it has no step. Later
// evaluations are separate spans under the iteration's number.
func TestIterationsAndEvaluations(t *testing.T) {
	for _, steps := range []bool{true, false} {
		d := computetest.Open(t)
		recorder := &sdk.Recorder{}
		d.Measure(recorder)
		x := computetest.In(t, d, make([]float32, 5000))
		sent, err := device.NewTransfer[float32](d, d.Compute())
		must(t, err)
		phase := func(p device.Phase) {
			d.Begin(p)
			d.Compute().Queue.Scale(1, x)
			d.End(p)
		}
		loss := func() {
			d.Begin(device.Forward)
			_, err := sent.Put(make([]float32, 7))
			must(t, err)
			d.End(device.Forward)
			phase(device.Loss)
			must(t, d.Compute().Stream.Synchronize())
			must(t, d.Read(true))
		}
		for range 2 {
			must(t, d.BeginPass())
			recorder.Reset()
			const iterations = 4
			var evaluations []sdk.Key
			for i := range int64(iterations) {
				loss()
				phase(device.LossGradient)
				phase(device.Backward)
				if steps {
					phase(device.Step)
				}
				for j := range i {
					d.Evaluate()
					loss()
					evaluations = append(evaluations, sdk.Key{A: i, B: j})
				}
			}
			must(t, d.EndPass())
			must(t, recorder.Err())
			wholes := spans(recorder, "device iteration")
			if len(wholes) != iterations {
				t.Fatalf("with steps %v there are %d iterations, want %d", steps, len(wholes), iterations)
			}
			for i, w := range wholes {
				if w.Key != (sdk.Key{A: int64(i)}) {
					t.Errorf("iteration %d has key %v", i, w.Key)
				}
			}
			names := []string{"device forward", "device transfer in", "device loss", "device loss gradient",
				"device backward"}
			last := spans(recorder, "device backward")
			if steps {
				last = spans(recorder, "device optimizer")
				names = append(names, "device optimizer")
			}
			for _, name := range names {
				within(t, name, spans(recorder, name), wholes, 1)
			}
			for i, w := range wholes {
				if first := spans(recorder, "device forward")[i]; w.StartNS != first.StartNS ||
					w.StartNS+w.DurationNS != last[i].StartNS+last[i].DurationNS {
					t.Errorf("iteration %v is not from %v to the end of %v", w, first, last[i])
				}
			}
			var keys []sdk.Key
			for _, e := range spans(recorder, "device evaluation") {
				keys = append(keys, e.Key)
				w := wholes[e.Key.A]
				if e.DurationNS <= 0 || e.StartNS < w.StartNS+w.DurationNS {
					t.Errorf("evaluation %v is not after iteration %v", e, w)
				}
			}
			if !slices.Equal(keys, evaluations) {
				t.Errorf("evaluations have keys %v, want %v", keys, evaluations)
			}
		}
	}
}

// An update lasts from the server's first work for it on the device to the end of its step.
func TestUpdatesAreMeasured(t *testing.T) {
	d := computetest.Open(t)
	recorder := &sdk.Recorder{}
	d.Measure(recorder)
	x := computetest.In(t, d, make([]float32, 5000))
	y := computetest.In(t, d, make([]float32, 5000))
	sent, err := device.NewTransfer[float32](d, d.Compute())
	must(t, err)
	step := func() {
		d.Begin(device.Step)
		d.Compute().Queue.Scale(2, x)
		d.End(device.Step)
	}
	for name, update := range map[string]func(){
		"device optimizer": step,
		"device average": func() {
			must(t, d.Mean(x, [][]float32{x, y}))
			must(t, d.Mean(y, [][]float32{x, y}))
			step()
		},
		"device transfer in": func() {
			d.BeginUpdate()
			for range 3 {
				_, err := sent.Put(make([]float32, 7))
				must(t, err)
			}
			step()
		},
	} {
		must(t, d.BeginPass())
		recorder.Reset()
		const updates = 3
		for range updates {
			_, err := sent.Fetch(x[:5]) // belongs to no update
			must(t, err)
			must(t, d.Read(false))
			update()
		}
		must(t, d.Compute().Stream.Synchronize())
		must(t, d.EndPass())
		wholes, steps := spans(recorder, "device update"), spans(recorder, "device optimizer")
		if len(wholes) != updates {
			t.Fatalf("of updates with %s there are %d, want %d", name, len(wholes), updates)
		}
		within(t, "device optimizer", steps, wholes, 1)
		first := spans(recorder, name)
		for i, w := range wholes {
			if w.Key != (sdk.Key{A: int64(i)}) || w.StartNS != first[i*len(first)/updates].StartNS ||
				w.StartNS+w.DurationNS != steps[i].StartNS+steps[i].DurationNS {
				t.Errorf("update %v is not from %v to the end of %v", w, first, steps[i])
			}
		}
	}
}

// The first pass sets the clock. Before it, everything works but nothing is measured.
func TestNothingIsMeasuredBeforeTheFirstPass(t *testing.T) {
	d := computetest.Open(t)
	recorder := &sdk.Recorder{}
	d.Measure(recorder)
	x := computetest.In(t, d, make([]float32, 5000))
	host := make([]byte, 4*len(x))
	sent, err := device.NewTransfer[float32](d, d.Compute())
	must(t, err)
	work := func() {
		for range 2 { // the second round reads the measurements of the first
			must(t, d.Wait(d.CopyOut(host, tensor.Float32Bytes(x))))
			must(t, d.Wait(d.CopyIn(tensor.Float32Bytes(x), host)))
			_, err := sent.Put(make([]float32, 7))
			must(t, err)
			d.Begin(device.Step)
			d.Compute().Queue.Scale(2, x)
			d.End(device.Step)
			must(t, d.Compute().Stream.Synchronize())
			must(t, d.Read(false))
		}
		must(t, d.EndPass())
	}
	work()
	for _, s := range recorder.All().Series {
		s.Each(func(m sdk.Measurement) { t.Errorf("%s has %v before the first pass", s.Name, m) })
	}
	must(t, d.BeginPass())
	work()
	for _, name := range []string{"device copy out", "device copy in", "device transfer in", "device optimizer"} {
		if n := len(spans(recorder, name)); n != 2 {
			t.Errorf("the first pass has %d %s, want 2", n, name)
		}
	}
}
