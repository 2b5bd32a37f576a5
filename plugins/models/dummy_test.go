package models

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

var small = DummySettings{NumEmbeddings: 7, EmbeddingDim: 5, DenseInputSize: 5, DenseOutputSize: 5, DenseLayersCount: 2}

func raggedBatch() *sdk.Batch {
	b := &sdk.Batch{}
	b.Append([]int64{3, 1, 3}, 2)
	b.Append(nil, 0)
	b.Append([]int64{6}, 4)
	b.Append([]int64{1, 0, 5, 5}, 1)
	return b
}

func TestGradientsMatchFiniteDifferences(t *testing.T) {
	for name, change := range map[string]func(*DummySettings){
		"dense":           func(*DummySettings) {},
		"sparse":          func(s *DummySettings) { s.Sparse = true },
		"gorgonia":        func(s *DummySettings) { s.Engine = Gorgonia },
		"gorgonia sparse": func(s *DummySettings) { s.Engine, s.Sparse = Gorgonia, true },
	} {
		t.Run(name, func(t *testing.T) {
			s := small
			change(&s)
			r := newReplica(t, s, 4, productsOf(t, blas.Gonum))
			r.model.Initialize(3)
			for _, p := range r.params { // larger weights, so that changes of the loss are far above float32's rounding
				for i := range p.Data {
					p.Data[i] *= 2
				}
			}
			b := raggedBatch()
			r.forward(t, b)
			r.backward(t, b)
			const step = 1e-2
			for k, value := range r.params {
				gradient := r.spread(k)
				for i := range value.Data {
					at := value.Data[i]
					value.Data[i] = at + step
					above := r.forward(t, b)
					value.Data[i] = at - step
					below := r.forward(t, b)
					value.Data[i] = at
					want := (above - below) / (2 * step)
					if diff := math.Abs(float64(gradient[i]) - want); diff > 1e-4 {
						t.Errorf("parameter %d, element %d: gradient is %g, the loss rises by %g", k, i, gradient[i],
							want)
					}
				}
			}
		})
	}
}

func TestSparseGradientIsCoalesced(t *testing.T) {
	s := small
	s.Sparse = true
	r := newReplica(t, s, 4, productsOf(t, blas.Gonum))
	r.model.Initialize(1)
	for range 2 { // the second pass starts with the memory that the first pass left
		b := raggedBatch()
		r.forward(t, b)
		r.backward(t, b)
		if got, want := r.grads[0].Rows, []int32{0, 1, 3, 5, 6}; !slices.Equal(got, want) {
			t.Fatalf("rows are %v, want %v", got, want)
		}
	}
	dense := newReplica(t, small, 4, productsOf(t, blas.Gonum))
	dense.model.Initialize(1)
	dense.forward(t, raggedBatch())
	dense.backward(t, raggedBatch())
	for i, want := range dense.spread(0) {
		if got := r.spread(0)[i]; got != want {
			t.Errorf("element %d of the embedding's gradient is %g as rows but %g dense", i, got, want)
		}
	}
}

func TestSparseGradientBeyondCapacity(t *testing.T) {
	for _, name := range []string{Layers, Gorgonia} {
		t.Run(name, func(t *testing.T) { testSparseGradientBeyondCapacity(t, name) })
	}
}

func testSparseGradientBeyondCapacity(t *testing.T, name string) {
	s := small
	s.Sparse, s.Engine = true, name
	r := newReplica(t, s, 4, productsOf(t, blas.Gonum))
	full := r.grads[0]
	tight := tensor.NewGradient(tensor.BucketSpec{Sparse: true, Width: 5, Capacity: 3})
	r.grads[0] = &tight
	b := raggedBatch()
	r.forward(t, b)
	r.upstream.Shape[0] = b.Size()
	if err := r.model.Backward(r.upstream, r.emit); err == nil {
		t.Fatal("5 rows were put where 3 fit")
	}
	r.grads[0] = full
	r.forward(t, b)
	r.backward(t, b)
	if len(full.Rows) != 5 {
		t.Errorf("after the error the gradient has rows %v, want 5 rows", full.Rows)
	}
}

func TestEmitsInReverseRegistrationOrder(t *testing.T) {
	r := newReplica(t, small, 4, productsOf(t, blas.Gonum))
	b := raggedBatch()
	r.forward(t, b)
	r.backward(t, b)
	if want := []int{4, 3, 2, 1, 0}; !slices.Equal(r.emitted, want) {
		t.Errorf("emitted %v, want %v", r.emitted, want)
	}
}

// TestStepAllocatesNothing uses gonum. Gonum allocates only for products of several blocks of 64x64, and the test's
// products are smaller. Package blas tests the shared libraries.
func TestStepAllocatesNothing(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		s := small
		s.Sparse = sparse
		r := newReplica(t, s, 4, productsOf(t, blas.Gonum))
		b := raggedBatch()
		step := func() { r.forward(t, b); r.backward(t, b) }
		if allocs := testing.AllocsPerRun(50, step); allocs > 0 {
			t.Errorf("sparse %v: a step makes %g allocations, want none", sparse, allocs)
		}
	}
}

func TestSettingsThatDoNotFit(t *testing.T) {
	for message, change := range map[string]func(*DummySettings){
		"setting num_embeddings is 0": func(s *DummySettings) { s.NumEmbeddings = 0 },
		"setting embedding_dim is -1": func(s *DummySettings) { s.EmbeddingDim = -1 },
		"setting dense_layers_count is 1000000": func(s *DummySettings) {
			s.DenseLayersCount = 1e6
		},
		"embedding_dim is 512 and dense_input_size is": func(s *DummySettings) {
			s.EmbeddingDim = 512
		},
		"dense_output_size is 10 but 8 layers need": func(s *DummySettings) {
			s.DenseOutputSize = 10
		},
		"is too large: the limit": func(s *DummySettings) {
			s.NumEmbeddings = math.MaxInt32
		},
		`setting blas: blas engine "quick" is not known:`: func(s *DummySettings) { s.BLAS = "quick" },
		`setting engine is "tensorflow" but must be layers or gorgonia`: func(s *DummySettings) {
			s.Engine = "tensorflow"
		},
	} {
		t.Run(message, func(t *testing.T) {
			s := DefaultDummy
			change(&s)
			if _, err := NewDummy(s, sdk.ModelEnv{MaxBatch: 1, Engine: engine.Host}); err == nil ||
				!strings.Contains(err.Error(), message) {
				t.Errorf("settings %+v give %v, want an error with %q", s, err, message)
			}
		})
	}
	for batch, message := range map[int]string{0: "the largest batch has 0",
		1 << 40: "a largest batch of 1099511627776"} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			if _, err := NewDummy(DefaultDummy, sdk.ModelEnv{MaxBatch: batch, Engine: engine.Host}); err == nil ||
				!strings.Contains(err.Error(), message) {
				t.Errorf("batches of %d give %v, want an error with %q", batch, err, message)
			}
		})
	}
}

func TestParts(t *testing.T) {
	parts := Parts()
	var got []string
	for _, p := range parts {
		got = append(got, fmt.Sprint(p.Kind, " ", p.Key, " ", len(p.Settings)))
	}
	if want := []string{"model dlrm 8", "model dummy 8", "model mlp 4"}; !slices.Equal(got, want) {
		t.Errorf("parts are %q, want %q", got, want)
	}
}

func TestForwardErrors(t *testing.T) {
	for _, name := range []string{Layers, Gorgonia} {
		t.Run(name, func(t *testing.T) { testForwardErrors(t, name) })
	}
}

func testForwardErrors(t *testing.T, name string) {
	s := small
	s.Engine = name
	r := newReplica(t, s, 2, productsOf(t, blas.Gonum))
	for message, b := range map[string]*sdk.Batch{
		"a batch has no samples":           {},
		"index 7 lies outside":             {Indices: []int64{7}, Offsets: []int64{0, 1}, Targets: []int64{0}},
		"index -1 lies outside":            {Indices: []int64{-1}, Offsets: []int64{0, 1}, Targets: []int64{0}},
		"do not describe its 2 indices":    {Indices: []int64{1, 2}, Offsets: []int64{0, 1}, Targets: []int64{0}},
		"sample 1 of the batch ends":       {Indices: []int64{1}, Offsets: []int64{0, 2, 1}, Targets: []int64{0, 0}},
		"offsets of a batch of 1 samples ": {Indices: []int64{1}, Targets: []int64{0}},
	} {
		if _, err := r.model.Forward(b); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("batch %+v gives %v, want an error with %q", b, err, message)
		}
	}
	if err := r.model.Backward(r.upstream, r.emit); err == nil {
		t.Error("backward went on after a forward that failed")
	}
}

func TestBindErrors(t *testing.T) {
	s := small
	s.Sparse = true
	for message, change := range map[string]func(*replica){
		"handed 4 values":                     func(r *replica) { r.params = r.params[:4] },
		"weight_0: the tensor has shape [25]": func(r *replica) { r.params[1] = tensor.New(25) },
		"bias_0: a tensor of shape [5] needs": func(r *replica) { r.params[2].Data = nil },
		"embedding: it has rows of 0":         func(r *replica) { r.grads[0] = &tensor.Gradient{} },
		"weight_1: it is a list of rows":      func(r *replica) { r.grads[3] = &tensor.Gradient{Width: 5} },
		"weight_1: it holds 0 elements":       func(r *replica) { r.grads[3] = &tensor.Gradient{} },
		"bias_1: there is none":               func(r *replica) { r.grads[4] = nil },
	} {
		t.Run(message, func(t *testing.T) {
			r := newReplica(t, s, 2, productsOf(t, blas.Gonum))
			change(r)
			if err := r.model.Bind(r.params, r.grads); err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("Bind says %v, want an error with %q", err, message)
			}
		})
	}
}

func TestFacts(t *testing.T) {
	for _, name := range []string{Layers, Gorgonia} {
		t.Run(name, func(t *testing.T) {
			s := small
			s.BLAS, s.Engine = blas.Gonum, name
			m, err := NewDummy(s, sdk.ModelEnv{MaxBatch: 1, Engine: engine.Host})
			if err != nil {
				t.Fatal(err)
			}
			facts := m.(sdk.Describer).Facts()
			if facts["engine"] != name || facts["blas"] != "gonum" || facts["blas_core"] != "go" ||
				facts["blas_threads"] == "" {
				t.Errorf("facts are %v", facts)
			}
		})
	}
}

// BenchmarkStep runs forward and backward of the default model.
func BenchmarkStep(b *testing.B) {
	for _, name := range []string{blas.OpenBLAS, blas.BLIS, blas.MKL, blas.Gonum} {
		for _, computes := range []string{Layers, Gorgonia} {
			b.Run(computes+"/"+name, func(b *testing.B) { benchmarkStep(b, computes, name) })
		}
	}
}

func benchmarkStep(b *testing.B, computes, product string) {
	s := DefaultDummy
	s.Engine = computes
	r := newReplica(b, s, 10, productsOf(b, product))
	b.Logf("%+v", r.model.engine.Info())
	r.model.Initialize(1)
	batch := &sdk.Batch{}
	for i := range 10 {
		bag := make([]int64, 100)
		for j := range bag {
			bag[j] = int64((i*100 + j) * 37 % 80)
		}
		batch.Append(bag, int64(i))
	}
	b.ReportAllocs()
	for b.Loop() {
		r.forward(b, batch)
		r.backward(b, batch)
	}
}
