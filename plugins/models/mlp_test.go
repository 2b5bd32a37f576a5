package models

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/plugins/models/nn"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

func drawMLP(t *rapid.T) MLPSettings {
	s := MLPSettings{Sizes: rapid.SliceOfN(rapid.IntRange(1, 7), 2, 5).Draw(t, "sizes")}
	for l := 1; l < len(s.Sizes); l++ {
		if rapid.Bool().Draw(t, "relu") {
			s.ReLUAfter = append(s.ReLUAfter, l)
		}
	}
	return s
}

func requireClose(t *rapid.T, what string, got []float32, want []float64) {
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements instead of %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Abs(float64(got[i])-want[i]) > 1e-4*max(1, math.Abs(want[i])) {
			t.Fatalf("%s, element %d: %v instead of %v", what, i, got[i], want[i])
		}
	}
}

// Successive batches on one model have different sizes.
func TestMLPMatchesPlainLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawMLP(t)
		p := newPerceptron(t, s, sdk.ModelEnv{})
		for pass := range 3 {
			b := numbered(rapid.IntRange(1, 9).Draw(t, "rows"), s.Sizes[0], pass)
			output, err := p.Forward(b)
			if err != nil {
				t.Fatal(err)
			}
			upstream := tensor.New(output.Shape...)
			splitmix.Uniform(4, uint64(pass), upstream.Data, 1)
			given := slices.Clone(upstream.Data)
			wantOutput, gradients, input, kink := p.plain(b, upstream.Data)
			requireClose(t, "output", output.Data, wantOutput)
			if kink {
				continue
			}
			got := make([]float32, len(b.Features))
			if err := p.BackwardInput(upstream, got, p.emit); err != nil {
				t.Fatal(err)
			}
			requireClose(t, "input gradient", got, input)
			for k, want := range gradients {
				requireClose(t, fmt.Sprint("gradient ", k), p.grads[k].Values, want)
				clear(p.grads[k].Values)
			}
			if err := p.Backward(upstream, p.emit); err != nil {
				t.Fatal(err)
			}
			for k, want := range gradients {
				requireClose(t, fmt.Sprint("gradient without the input's ", k), p.grads[k].Values, want)
			}
			if !slices.Equal(given, upstream.Data) {
				t.Fatal("backward changed the output's gradient")
			}
		}
	})
}

func TestMLPGradientsMatchFiniteDifferences(t *testing.T) {
	p := newPerceptron(t, MLPSettings{Sizes: []int{4, 6, 5, 3}, ReLUAfter: []int{1, 3}}, sdk.ModelEnv{})
	b := numbered(5, 4, 2)
	p.requireDerivatives(t, p, b, 1e-3, 2e-3)
}

// Log-probabilities equal LogSoftmax over the output of the same model without that layer.
func TestMLPLogSoftmax(t *testing.T) {
	s := MLPSettings{Sizes: []int{4, 6, 3}, ReLUAfter: []int{1}}
	linear := newPerceptron(t, s, sdk.ModelEnv{})
	s.Output = LogSoftmax
	p := newPerceptron(t, s, sdk.ModelEnv{})
	b := numbered(5, 4, 0)
	want, err := linear.Forward(b)
	if err != nil {
		t.Fatal(err)
	}
	nn.LogSoftmax(want.Data, 3)
	got, err := p.Forward(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("the output is %s", d)
	}
	upstream, below := upstreamOf(got, 0), tensor.New(5, 3)
	nn.LogSoftmaxGradient(below.Data, upstream.Data, want.Data, 3)
	wantInput, gotInput := make([]float32, len(b.Features)), make([]float32, len(b.Features))
	if err := linear.BackwardInput(below, wantInput, linear.emit); err != nil {
		t.Fatal(err)
	}
	if err := p.BackwardInput(upstream, gotInput, p.emit); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wantInput, gotInput) + cmp.Diff(linear.grads, p.grads); d != "" {
		t.Errorf("the gradients are %s", d)
	}
}

// A layer's gradients are emitted before its input's gradient is computed. At that time, the gradients of lower
// layers are still unchanged.
func TestMLPEmitsWhatIsReady(t *testing.T) {
	p := newPerceptron(t, MLPSettings{Sizes: []int{3, 2, 2}}, sdk.ModelEnv{})
	b := numbered(2, 3, 0)
	output, err := p.Forward(b)
	if err != nil {
		t.Fatal(err)
	}
	input := slices.Repeat([]float32{7}, len(b.Features))
	emit := func(k int) {
		p.emit(k)
		for j, g := range p.grads {
			if ready := slices.Contains(p.emitted, j); ready == slices.Contains(g.Values, 9) {
				t.Errorf("at emit %d gradient %d is ready: %v", k, j, !ready)
			}
		}
		if input[0] != 7 {
			t.Errorf("at emit %d the input's gradient is there", k)
		}
	}
	upstream := tensor.Tensor{Shape: output.Shape, Data: []float32{1, 2, 3, 4}}
	if err := p.BackwardInput(upstream, input, emit); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int{3, 2, 1, 0}, p.emitted); d != "" {
		t.Error(d)
	}
	if slices.Contains(input, 7) {
		t.Error("the input's gradient is not overwritten")
	}
}

func TestMLPInitialize(t *testing.T) {
	p := newPerceptron(t, MLPSettings{Sizes: []int{4, 9, 1}}, sdk.ModelEnv{FirstTensor: 3})
	p.Initialize(7)
	for k, v := range p.params {
		want := make([]float32, len(v.Data))
		splitmix.Uniform(7, uint64(3+k), want, []float32{0.5, 0.5, 1. / 3, 1. / 3}[k])
		if d := cmp.Diff(want, v.Data); d != "" {
			t.Errorf("parameter %d: %s", k, d)
		}
	}
	if d := cmp.Diff(sdk.InputSpec{Features: 4, Classes: 2, Outputs: 1}, p.Inputs()); d != "" {
		t.Error(d)
	}
	var names []string
	for _, spec := range p.Parameters() {
		names = append(names, fmt.Sprint(spec.Name, spec.Shape))
	}
	if d := cmp.Diff([]string{"weight_0[9 4]", "bias_0[9]", "weight_1[1 9]", "bias_1[1]"}, names); d != "" {
		t.Error(d)
	}
	if facts := p.Facts(); facts["blas"] != "gonum" {
		t.Errorf("facts are %v", facts)
	}
}

func TestMLPStepAllocatesNothing(t *testing.T) {
	p := newPerceptron(t, MLPSettings{Sizes: []int{16, 12, 8}, ReLUAfter: []int{1}}, sdk.ModelEnv{})
	large, small := numbered(9, 16, 0), numbered(4, 16, 1)
	input := make([]float32, len(large.Features))
	upstream := tensor.New(9, 8)
	step := func(b *sdk.Batch) {
		p.emitted = p.emitted[:0]
		output, err := p.Forward(b)
		if err != nil {
			t.Fatal(err)
		}
		upstream.Shape[0], upstream.Data = b.Size(), upstream.Data[:len(output.Data)]
		if err := p.BackwardInput(upstream, input[:len(b.Features)], p.emit); err != nil {
			t.Fatal(err)
		}
		upstream.Data = upstream.Data[:cap(upstream.Data)]
	}
	step(large)
	if n := testing.AllocsPerRun(50, func() { step(small); step(large) }); n > 0 {
		t.Errorf("two steps make %g allocations, want none", n)
	}
}

func TestMLPSettingsThatDoNotFit(t *testing.T) {
	for want, s := range map[string]MLPSettings{
		"setting sizes has length 0 but must have 2 to 10001 numbers": DefaultMLP,
		"setting sizes[1] is 0 but must be from 1 to 2147483647":      {Sizes: []int{1, 0}},
		"setting relu_after[1] is 2 but layers are numbered from 1 to 1": {Sizes: []int{1, 2},
			ReLUAfter: []int{1, 2}},
		"setting relu_after[0] is 0 but layers":                            {Sizes: []int{1, 2}, ReLUAfter: []int{0}},
		"a model of 4.61e+18 parameters is too large: the limit is 2.75e+": {Sizes: []int{math.MaxInt32, math.MaxInt32}},
		`setting output is "softmax" but must be linear or log_softmax`:    {Sizes: []int{1, 2}, Output: "softmax"},
		`setting blas: blas engine "quick" is not known`: {Sizes: []int{1, 2}, Output: Linear,
			BLAS: "quick"},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := NewMLP(s, sdk.ModelEnv{Engine: engine.Host}); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%+v gives %v, want %q", s, err, want)
			}
		})
	}
}

func TestMLPErrors(t *testing.T) {
	p := newPerceptron(t, MLPSettings{Sizes: []int{2, 3}}, sdk.ModelEnv{})
	upstream := tensor.New(1, 3)
	if err := p.Backward(upstream, p.emit); err == nil || !strings.Contains(err.Error(), "cannot go backward before") {
		t.Errorf("backward first gives %v", err)
	}
	for want, b := range map[string]*sdk.Batch{
		"a batch has 0 samples": {},
		"a batch of 1 samples has 3 numbers but the model takes 2 for each": numbered(1, 3, 0),
		"a batch of 2 samples has 2 numbers but the model takes 2 for each": {Features: []float32{1, 2},
			Targets: []int64{0, 0}},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := p.Forward(b); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	if _, err := p.Forward(numbered(1, 2, 0)); err != nil {
		t.Fatal(err)
	}
	if err := p.Backward(tensor.New(2, 3), p.emit); err == nil || !strings.Contains(err.Error(), "has shape [2 3]") {
		t.Errorf("a gradient of two rows gives %v", err)
	}
	if err := p.BackwardInput(upstream, make([]float32, 3), p.emit); err == nil ||
		!strings.Contains(err.Error(), "the input's gradient has room for 3 values") {
		t.Errorf("too much room gives %v", err)
	}
	unbound, err := NewMLP(MLPSettings{Sizes: []int{2, 3}, Output: Linear, BLAS: blas.Native},
		sdk.ModelEnv{Engine: engine.Host})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unbound.Forward(numbered(1, 2, 0)); err == nil ||
		!strings.Contains(err.Error(), "before its parameters are bound") {
		t.Errorf("an unbound model says %v", err)
	}
	if err := p.Bind(p.params[:1], p.grads); err == nil || !strings.Contains(err.Error(), "handed 1 values") {
		t.Errorf("Bind says %v", err)
	}
}

// BenchmarkMLP runs forward and backward of the dense part of the hybrid benchmark.
func BenchmarkMLP(b *testing.B) {
	for _, name := range []string{blas.OpenBLAS, blas.Gonum} {
		b.Run(name, func(b *testing.B) {
			_ = productsOf(b, name)
			p := newPerceptron(b, MLPSettings{Sizes: []int{512, 256, 128, 64, 32, 8}, ReLUAfter: []int{2}, BLAS: name},
				sdk.ModelEnv{})
			batch, input, upstream := numbered(8, 512, 0), make([]float32, 8*512), tensor.New(8, 8)
			b.ReportAllocs()
			for b.Loop() {
				p.emitted = p.emitted[:0]
				if _, err := p.Forward(batch); err != nil {
					b.Fatal(err)
				}
				if err := p.BackwardInput(upstream, input, p.emit); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
