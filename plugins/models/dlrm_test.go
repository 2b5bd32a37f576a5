package models

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
)

var smallDLRM = DLRMSettings{
	DenseFeatures: 3, TableRows: []int{4, 2, 5}, EmbeddingDim: 4,
	BottomLayers: []int{6, 4}, TopLayers: []int{5, 1}, Tables: TablesInModel,
}

func upstreamOf(output tensor.Tensor, number uint64) tensor.Tensor {
	upstream := tensor.New(output.Shape...)
	splitmix.Uniform(4, number, upstream.Data, 1)
	return upstream
}

func TestDLRMGradientsMatchFiniteDifferences(t *testing.T) {
	r := newRecommender(t, smallDLRM, sdk.ModelEnv{})
	b := clicks(smallDLRM, 3, 1)
	r.requireDerivatives(t, r, b, 2e-3, 5e-4)
}

// The tables and layers have the same gradients in three cases: sparse, dense, and looked up by the trainer.
// Successive batches have different sizes.
func TestDLRMTablesAreTheSameEverywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawDLRM(t)
		dense := newRecommender(t, s, sdk.ModelEnv{})
		s.Sparse = true
		sparse := newRecommender(t, s, sdk.ModelEnv{})
		s.Tables = TablesOnServers
		served := newRecommender(t, s, sdk.ModelEnv{FirstTensor: 1})
		for pass := range 3 {
			b := clicks(s, rapid.IntRange(1, 6).Draw(t, "samples"), pass)
			looked := lookedUp(s, b, dense.params[dense.settings.Embedding()].Data)
			outputs := make([]tensor.Tensor, 3)
			for i, r := range []*recommender{dense, sparse, served} {
				in := b
				if r == served {
					in = looked
				}
				var err error
				if outputs[i], err = r.Forward(in); err != nil {
					t.Fatal(err)
				}
				agree(t, "output", outputs[i].Data, outputs[0].Data)
			}
			upstream := upstreamOf(outputs[0], uint64(pass))
			numbers, features := make([]float32, len(b.Features)), slices.Repeat([]float32{9}, len(looked.Features))
			if err := dense.BackwardInput(upstream, numbers, dense.emit); err != nil {
				t.Fatal(err)
			}
			if err := sparse.Backward(upstream, sparse.emit); err != nil {
				t.Fatal(err)
			}
			if err := served.BackwardInput(upstream, features, served.emit); err != nil {
				t.Fatal(err)
			}
			for k := range dense.params {
				agree(t, fmt.Sprint("gradient ", k, " as rows"), sparse.spread(k), dense.spread(k))
			}
			for k, l := range dense.layerParameters() {
				agree(t, fmt.Sprint("gradient ", l, " of looked up rows"), served.spread(k), dense.spread(l))
			}
			agree(t, "gradient of what was looked up", features, joined(s, b, numbers, dense))
		}
	})
}

// joined returns the expected gradient of the features for a model whose rows are looked up. The gradient is built
// from the gradients of a model that looks up the rows itself.
func joined(s DLRMSettings, b *sdk.Batch, numbers []float32, r *recommender) (out []float32) {
	for i := range b.Size() {
		out = append(out, numbers[i*s.DenseFeatures:(i+1)*s.DenseFeatures]...)
		out = append(out, r.lookedGradient[i*s.LookedUp():(i+1)*s.LookedUp()]...)
	}
	return out
}

// Backward emits the top layers' gradients first, before it computes anything below them. Backward emits the
// tables' gradients before those of the bottom layers.
func TestDLRMEmitsInReverse(t *testing.T) {
	for tables, want := range map[string][]int{
		TablesInModel:   {8, 7, 6, 5, 4, 3, 2, 1, 0},
		TablesOnServers: {7, 6, 5, 4, 3, 2, 1, 0},
	} {
		s := smallDLRM
		s.Tables = tables
		r := newRecommender(t, s, sdk.ModelEnv{})
		b := clicks(s, 2, 0)
		if tables == TablesOnServers {
			b = lookedUp(s, b, make([]float32, 11*s.EmbeddingDim))
		}
		output, err := r.Forward(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range r.grads {
			for i := range g.Values {
				g.Values[i] = 9
			}
		}
		emit := func(k int) {
			r.emit(k)
			for j, g := range r.grads {
				if ready := slices.Contains(r.emitted, j); ready == slices.Contains(g.Values, 9) {
					t.Errorf("%s: at emit %d gradient %d is ready: %v", tables, k, j, !ready)
				}
			}
		}
		if err := r.BackwardInput(upstreamOf(output, 0), make([]float32, len(b.Features)), emit); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, r.emitted); d != "" {
			t.Errorf("%s: %s", tables, d)
		}
	}
}

func TestDLRMInitialize(t *testing.T) {
	s := smallDLRM
	s.Sparse = true
	r := newRecommender(t, s, sdk.ModelEnv{FirstTensor: 2})
	r.Initialize(7)
	stack := make([]float32, 11*4)
	splitmix.Uniform(7, 2, stack, 1)
	at := 0
	for _, rows := range s.TableRows {
		for range rows * 4 {
			stack[at] *= float32(1 / math.Sqrt(float64(rows)))
			at++
		}
	}
	if d := cmp.Diff(stack, r.params[r.settings.Embedding()].Data); d != "" {
		t.Errorf("embedding: %s", d)
	}
	inputs := []int{3, 3, 6, 6, 4 + 6, 4 + 6, 5, 5}
	var names []string
	specs := r.Parameters()
	for _, spec := range specs {
		names = append(names, fmt.Sprint(spec.Name, spec.Shape, spec.Sparse))
	}
	for k, l := range r.layerParameters() {
		want := make([]float32, len(r.params[l].Data))
		splitmix.Uniform(7, uint64(3+k), want, float32(1/math.Sqrt(float64(inputs[k]))))
		if d := cmp.Diff(want, r.params[l].Data); d != "" {
			t.Errorf("%s: %s", specs[l].Name, d)
		}
	}
	if d := cmp.Diff([]string{
		"bottom_weight_0[6 3] false", "bottom_bias_0[6] false", "bottom_weight_1[4 6] false", "bottom_bias_1[4] false",
		"embedding[11 4] true",
		"top_weight_0[5 10] false", "top_bias_0[5] false", "top_weight_1[1 5] false", "top_bias_1[1] false",
	}, names); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(sdk.InputSpec{Features: 3, Classes: 2, Outputs: 1, Tables: []int{4, 2, 5}}, r.Inputs()); d != "" {
		t.Error(d)
	}
	s.Tables = TablesOnServers
	served := newRecommender(t, s, sdk.ModelEnv{FirstTensor: 3})
	served.Initialize(7)
	for k, l := range r.layerParameters() { // the single server's table comes first
		if d := cmp.Diff(r.params[l].Data, served.params[k].Data); d != "" {
			t.Errorf("parameter %d: %s", k, d)
		}
	}
	if d := cmp.Diff(sdk.InputSpec{Features: 15, Classes: 2, Outputs: 1, Tables: []int{4, 2, 5}, LookedUp: 12},
		served.Inputs()); d != "" {
		t.Error(d)
	}
	if facts := r.Facts(); facts["blas"] != "gonum" || facts["engine"] != "layers" {
		t.Errorf("facts are %v", facts)
	}
}

func TestDLRMStepAllocatesNothing(t *testing.T) {
	for _, tables := range []string{TablesInModel, TablesOnServers} {
		s := smallDLRM
		s.Sparse, s.Tables = true, tables
		r := newRecommender(t, s, sdk.ModelEnv{})
		var batches []*sdk.Batch
		for pass, samples := range []int{9, 4} {
			b := clicks(s, samples, pass)
			if tables == TablesOnServers {
				b = lookedUp(s, b, make([]float32, 11*s.EmbeddingDim))
			}
			batches = append(batches, b)
		}
		input := make([]float32, len(batches[0].Features))
		upstream := tensor.New(9, 1)
		step := func() {
			for _, b := range batches {
				r.emitted = r.emitted[:0]
				output, err := r.Forward(b)
				if err != nil {
					t.Fatal(err)
				}
				upstream.Shape[0], upstream.Data = b.Size(), upstream.Data[:len(output.Data)]
				if err := r.BackwardInput(upstream, input[:len(b.Features)], r.emit); err != nil {
					t.Fatal(err)
				}
			}
			upstream.Data = upstream.Data[:9]
		}
		step()
		if n := testing.AllocsPerRun(50, step); n > 0 {
			t.Errorf("%s: two steps make %g allocations, want none", tables, n)
		}
	}
}

// BenchmarkDLRM runs forward and backward of the default model. No gradient of a logit is 0, because engines may
// skip zeros in their products.
func BenchmarkDLRM(b *testing.B) {
	for _, name := range []string{blas.OpenBLAS, blas.Native, blas.Gonum} {
		b.Run(name, func(b *testing.B) {
			_ = productsOf(b, name)
			s := DefaultDLRM
			s.BLAS = name
			r := newRecommender(b, s, sdk.ModelEnv{MaxBatch: 128})
			batch, upstream := clicks(s, 128, 0), tensor.New(128, 1)
			for i := range upstream.Data {
				upstream.Data[i] = 1. / 128
			}
			if at := differs(b, r, s, batch); at != "" {
				b.Fatal(at)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.emitted = r.emitted[:0]
				if _, err := r.Forward(batch); err != nil {
					b.Fatal(err)
				}
				if err := r.Backward(upstream, r.emit); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// differs describes how the logits differ from those computed with gonum.
func differs(b *testing.B, r *recommender, s DLRMSettings, batch *sdk.Batch) string {
	s.BLAS = blas.Gonum
	want, err := newRecommender(b, s, sdk.ModelEnv{MaxBatch: batch.Size()}).Forward(batch)
	if err != nil {
		b.Fatal(err)
	}
	got, err := r.Forward(batch)
	if err != nil {
		b.Fatal(err)
	}
	for i, v := range want.Data {
		if math.Abs(float64(got.Data[i]-v)) > 1e-4 {
			return fmt.Sprintf("logit %d is %g, want %g", i, got.Data[i], v)
		}
	}
	return ""
}
