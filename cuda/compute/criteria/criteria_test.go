//go:build nvidia

package criteria_test

import (
	"math"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	ondevice "github.com/psbench/psbench/cuda/compute/criteria"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

func TestMain(m *testing.M) { computetest.Main(m) }

var must = computetest.Must

func build(t *testing.T, parts []sdk.Part, key string, e engine.Engine) sdk.Criterion {
	t.Helper()
	for _, p := range parts {
		if p.Key == key {
			c, err := p.Build([]byte("{}"), sdk.CriterionEnv{MaxBatch: 3, Recorder: &sdk.Recorder{}, Engine: e})
			must(t, err)
			return c.(sdk.Criterion)
		}
	}
	t.Fatalf("there is no criterion %s", key)
	return nil
}

func TestEveryCriterionIsThere(t *testing.T) {
	own := ondevice.Parts()
	for i, p := range criteria.Parts() {
		if own[i].Key != p.Key || own[i].Kind != p.Kind || own[i].Targets != p.Targets {
			t.Errorf("criterion %d is %s, want %s", i, own[i].Key, p.Key)
		}
	}
}

func TestCriteriaAgreeWithTheHost(t *testing.T) {
	d := computetest.Open(t)
	for _, key := range []string{"bce", "cel", "l1", "mse", "nll"} {
		t.Run(key, func(t *testing.T) {
			host, device := build(t, criteria.Parts(), key, engine.Host), build(t, ondevice.Parts(), key, d)
			for _, size := range [][2]int{{1, 1}, {3, 10}, {7, 2}, {40, 300}, {2, 5}} {
				rows, columns := size[0], size[1]
				if key == "bce" {
					columns = 1
				}
				output := tensor.Tensor{Shape: []int{rows, columns},
					Data: computetest.Random(rows*columns, uint64(rows))}
				for i := range output.Data {
					output.Data[i] *= 8
				}
				targets := make([]int64, rows)
				for i := range targets {
					targets[i] = int64(i) % min(int64(max(columns, 1)), 3)
					if key == "bce" {
						targets[i] = int64(i % 2)
					}
				}
				there := computetest.Tensor(t, d, output)
				want, err := host.Forward(output, targets)
				must(t, err)
				got, err := device.Forward(there, targets)
				must(t, err)
				if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
					t.Errorf("the loss of %v is %.9g, want %.9g", size, got, want)
				}
				wantGradient := tensor.New(rows, columns)
				gotGradient := computetest.Tensor(t, d, tensor.New(rows, columns))
				must(t, host.Backward(wantGradient))
				clear(targets) // the criterion must have copied the targets before
				must(t, device.Backward(gotGradient))
				computetest.Near(t, "the gradient", computetest.Out(t, d, gotGradient.Data), wantGradient.Data, 1e-6)
			}
		})
	}
}

func TestFloatTargetsAgreeWithTheHost(t *testing.T) {
	d := computetest.Open(t)
	for _, key := range []string{"bce", "cel", "l1", "mse"} {
		t.Run(key, func(t *testing.T) {
			host := build(t, criteria.Parts(), key, engine.Host).(sdk.FloatCriterion)
			device := build(t, ondevice.Parts(), key, d).(sdk.FloatCriterion)
			for _, size := range [][2]int{{1, 1}, {3, 10}, {40, 300}, {2, 5}} {
				rows, columns := size[0], size[1]
				output := tensor.Tensor{Shape: []int{rows, columns},
					Data: computetest.Random(rows*columns, uint64(rows))}
				targets := computetest.Random(rows*columns, 7)
				for i := range targets {
					switch key {
					case "bce":
						targets[i] = (targets[i] + 1) / 2
					case "cel":
						targets[i] = 1 / float32(columns)
					}
				}
				there := computetest.Tensor(t, d, output)
				want, err := host.ForwardFloats(output, targets)
				must(t, err)
				got, err := device.ForwardFloats(there, targets)
				must(t, err)
				if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
					t.Errorf("the loss of %v is %.9g, want %.9g", size, got, want)
				}
				wantGradient := tensor.New(rows, columns)
				gotGradient := computetest.Tensor(t, d, tensor.New(rows, columns))
				must(t, host.Backward(wantGradient))
				clear(targets) // the criterion must have copied the targets before
				must(t, device.Backward(gotGradient))
				computetest.Near(t, "the gradient", computetest.Out(t, d, gotGradient.Data), wantGradient.Data, 1e-6)
			}
			there := computetest.Tensor(t, d, tensor.New(2, 1))
			for _, targets := range [][]float32{nil, {1}, {1, 2, 3}, {0.5, float32(math.NaN())}, {1, 7}} {
				_, want := host.ForwardFloats(tensor.New(2, 1), targets)
				_, got := device.ForwardFloats(there, targets)
				if (want == nil) != (got == nil) || want != nil && want.Error() != got.Error() {
					t.Errorf("targets %v give %v, want %v", targets, got, want)
				}
			}
		})
	}
}

// Errors have the same text as on the host.
func TestWhatIsWrongIsSaid(t *testing.T) {
	d := computetest.Open(t)
	for _, key := range []string{"bce", "cel", "l1", "mse", "nll"} {
		host, device := build(t, criteria.Parts(), key, engine.Host), build(t, ondevice.Parts(), key, d)
		output := tensor.Tensor{Shape: []int{2, 1}, Data: []float32{1, 2}}
		there := computetest.Tensor(t, d, output)
		for _, wrong := range []struct {
			output, there tensor.Tensor
			targets       []int64
		}{
			{output, there, nil}, {output, there, []int64{1}}, {output, there, []int64{0, -1}},
			{output, there, []int64{0, 7}},
			{tensor.Tensor{}, tensor.Tensor{}, []int64{0, 0}},
		} {
			_, want := host.Forward(wrong.output, wrong.targets)
			_, got := device.Forward(wrong.there, wrong.targets)
			if (want == nil) != (got == nil) || want != nil && want.Error() != got.Error() {
				t.Errorf("%s of targets %v gives %v, want %v", key, wrong.targets, got, want)
			}
		}
		fresh := build(t, ondevice.Parts(), key, d)
		if err := fresh.Backward(there); err == nil ||
			err.Error() != "the criterion cannot go backward before it went forward" {
			t.Errorf("%s goes backward first with %v", key, err)
		}
	}
	if _, err := ondevice.Parts()[0].Build([]byte("{}"), sdk.CriterionEnv{Engine: engine.Host}); err == nil ||
		err.Error() != "it computes on a CUDA device, but engine host does not: choose it for CUDA ranks" {
		t.Errorf("on the host it is built with %v", err)
	}
}
