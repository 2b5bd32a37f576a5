package servers

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

func newTable(t interface{ Fatal(...any) }, s EmbeddingSettings, env sdk.TableEnv) sdk.TableServer {
	env.Engine = engine.Host
	server, err := NewEmbedding(s, env)
	if err != nil {
		t.Fatal(err)
	}
	server.Reset()
	return server
}

// drawBags draws bags in which rows recur. Some bags are empty.
func drawBags(t *rapid.T, rows int) (offsets, indices []int64) {
	offsets = []int64{0}
	for range rapid.IntRange(1, 5).Draw(t, "bags") {
		bag := rapid.SliceOfN(rapid.Int64Range(0, int64(rows-1)), 0, 6).Draw(t, "bag")
		indices = append(indices, bag...)
		offsets = append(offsets, int64(len(indices)))
	}
	return offsets, indices
}

// Lookups and updates match plain loops over a float64 table.
func TestEmbeddingMatchesPlainLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := EmbeddingSettings{
			NumEmbeddings: rapid.IntRange(1, 6).Draw(t, "rows"), EmbeddingDim: rapid.IntRange(1, 9).Draw(t, "width"),
			Init: 1, Settings: optimizer.Defaults(0.25, 0),
		}
		server := newTable(t, s, sdk.TableEnv{Position: 3, Seed: 5})
		start := make([]float32, s.NumEmbeddings*s.EmbeddingDim)
		splitmix.Uniform(5, 3, start, 1)
		table := make([]float64, len(start))
		for i, v := range start {
			table[i] = float64(v)
		}
		for batch := range int64(3) {
			offsets, indices := drawBags(t, s.NumEmbeddings)
			bags, w := len(offsets)-1, s.EmbeddingDim
			values := make([]float32, bags*w)
			for i := range values {
				values[i] = 7 // Lookup must overwrite it
			}
			if err := server.Lookup(&comm.TableCall{Batch: batch, Offsets: offsets, Indices: indices, Values: values,
				Stride: w, Width: w}); err != nil {
				t.Fatal(err)
			}
			want := make([]float64, bags*w)
			gradient := make([]float32, bags*w)
			for i := range gradient {
				gradient[i] = rapid.Float32Range(-4, 4).Draw(t, "gradient")
			}
			moved := append([]float64(nil), table...)
			for i := range bags {
				for _, row := range indices[offsets[i]:offsets[i+1]] {
					for j := range w {
						want[i*w+j] += table[int(row)*w+j]
						moved[int(row)*w+j] -= 0.25 * float64(gradient[i*w+j])
					}
				}
			}
			requireNear(t, 0, values, want)
			if err := server.Update(&comm.TableCall{Batch: batch, Update: true, Offsets: offsets, Indices: indices,
				Values: gradient, Stride: w, Width: w}); err != nil {
				t.Fatal(err)
			}
			table = moved
		}
		_, held := server.(sdk.Holder).Held()
		requireNear(t, 0, held[0].Data, table)
		server.Reset()
		if d := cmp.Diff(start, held[0].Data); d != "" {
			t.Fatalf("a reset does not give the initial values: %s", d)
		}
	})
}

// An update is one optimizer step with the summed gradients of each row. A reset discards earlier steps.
func TestEmbeddingOptimizers(t *testing.T) {
	const rows, width = 5, 3
	offsets, indices := []int64{0, 3, 3, 4}, []int64{4, 1, 4, 1}
	gradient := []float32{1, -2, 3, 9, 9, 9, 4, 5, -6}
	sums := &tensor.Gradient{Rows: []int32{1, 4}, Width: width, Values: []float32{5, 3, -3, 2, -4, 6}}
	for _, name := range []string{optimizer.SGD, optimizer.Adam, optimizer.Adagrad, optimizer.RowwiseAdagrad} {
		t.Run(name, func(t *testing.T) {
			s := EmbeddingSettings{NumEmbeddings: rows, EmbeddingDim: width, Init: 0.25,
				Settings: optimizer.Defaults(0.5, 0)}
			s.Optimizer = name
			server := newTable(t, s, sdk.TableEnv{Position: 1, Seed: 2})
			_, held := server.(sdk.Holder).Held()
			start := tensor.New(rows, width)
			splitmix.Uniform(2, 1, start.Data, 0.25)
			for pass := range 2 {
				want := tensor.Tensor{Shape: start.Shape, Data: append([]float32(nil), start.Data...)}
				o, err := optimizer.New(engine.Host, s.Settings, []tensor.Tensor{want}, []*tensor.Gradient{sums})
				if err != nil {
					t.Fatal(err)
				}
				if err := o.Reset(); err != nil {
					t.Fatal(err)
				}
				server.Reset()
				for batch := range int64(3) {
					if err := server.Update(&comm.TableCall{Batch: batch, Update: true, Offsets: offsets,
						Indices: indices, Values: gradient, Stride: width, Width: width}); err != nil {
						t.Fatal(err)
					}
					if err := o.Step(); err != nil {
						t.Fatal(err)
					}
					if d := cmp.Diff(want.Data, held[0].Data); d != "" {
						t.Fatalf("%s, pass %d, batch %d: %s", name, pass, batch, d)
					}
				}
			}
		})
	}
}

func TestEmbeddingBeforeItsValues(t *testing.T) {
	server, err := NewEmbedding(DefaultEmbedding, sdk.TableEnv{Name: "server2", Engine: engine.Host})
	if err != nil {
		t.Fatal(err)
	}
	if spec := server.Table(); spec != (comm.TableSpec{Rows: 300, Width: 64}) {
		t.Errorf("the table is %+v", spec)
	}
	if _, held := server.(sdk.Holder).Held(); held[0].Data != nil {
		t.Error("the table is allocated before memory is compared")
	}
	call := &comm.TableCall{Offsets: []int64{0, 1}, Indices: []int64{0}, Values: make([]float32, 64), Stride: 64,
		Width: 64}
	if err := server.Lookup(call); err == nil ||
		!strings.Contains(err.Error(), "server2 was asked before its table had values") {
		t.Errorf("a lookup gives %v", err)
	}
	if err := server.Update(call); err == nil {
		t.Error("an update was taken")
	}
	server.Reset()
	specs, held := server.(sdk.Holder).Held()
	if len(specs) != 1 || held[0].Check() != nil || !cmp.Equal(specs[0].Shape, []int{300, 64}) {
		t.Errorf("it holds %+v", specs)
	}
}

func TestEmbeddingRefuses(t *testing.T) {
	for want, change := range map[string]func(*EmbeddingSettings){
		"setting num_embeddings is 0 but must be from 1 to 2147483647": func(s *EmbeddingSettings) {
			s.NumEmbeddings = 0
		},
		"setting embedding_dim is 4294967296": func(s *EmbeddingSettings) {
			s.EmbeddingDim = 1 << 32
		},
		"setting lr is 0 but must be above 0": func(s *EmbeddingSettings) { s.LR = 0 },
		"setting init is -1 but must be from 0 to 3.4028234663852886e+38": func(s *EmbeddingSettings) {
			s.Init = -1
		},
		"setting init is 1e+39 but must be from 0 to": func(s *EmbeddingSettings) {
			s.Init = 1e39
		},
		"setting init is NaN but must be from 0 to": func(s *EmbeddingSettings) {
			s.Init = math.NaN()
		},
		"setting lr is 1e+39 but must be a finite number": func(s *EmbeddingSettings) {
			s.LR = 1e39
		},
		"setting momentum is 0.5 but the optimizer adagrad has none": func(s *EmbeddingSettings) {
			s.Optimizer, s.Momentum = optimizer.Adagrad, 0.5
		},
		"setting weight_decay is 0.1 but must be 0: the gradient of parameter": func(s *EmbeddingSettings) {
			s.WeightDecay = 0.1
		},
	} {
		t.Run(want, func(t *testing.T) {
			s := DefaultEmbedding
			change(&s)
			if _, err := NewEmbedding(s, sdk.TableEnv{Engine: engine.Host}); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%+v gives %v, want %q", s, err, want)
			}
		})
	}
}

func TestEmbeddingAllocatesNothing(t *testing.T) {
	server := newTable(t, DefaultEmbedding, sdk.TableEnv{})
	values := make([]float32, 2*64)
	call := &comm.TableCall{Offsets: []int64{0, 2, 5}, Indices: []int64{7, 7, 0, 299, 12}, Values: values, Stride: 64,
		Width: 64}
	if n := testing.AllocsPerRun(100, func() { _, _ = server.Lookup(call), server.Update(call) }); n != 0 {
		t.Errorf("a lookup and an update allocate %v times", n)
	}
}

// BenchmarkEmbedding looks up and updates 8 bags of 5 rows of 64.
func BenchmarkEmbedding(b *testing.B) {
	server := newTable(b, DefaultEmbedding, sdk.TableEnv{})
	offsets, indices := []int64{0}, make([]int64, 40)
	for i := range indices {
		indices[i] = int64(i * 37 % 300)
		if i%5 == 4 {
			offsets = append(offsets, int64(i+1))
		}
	}
	call := &comm.TableCall{Offsets: offsets, Indices: indices, Values: make([]float32, 8*64), Stride: 64, Width: 64}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = server.Lookup(call), server.Update(call)
	}
}

// A row that occurs often gets one step with the sum; separate steps would each round to the row's precision.
func TestUpdateRoundsOnce(t *testing.T) {
	const times = 1000
	made, err := NewEmbedding(EmbeddingSettings{NumEmbeddings: 2, EmbeddingDim: 1, Settings: optimizer.Defaults(1, 0)},
		sdk.TableEnv{Recorder: &sdk.Recorder{}, Engine: engine.Host})
	if err != nil {
		t.Fatal(err)
	}
	made.Reset()
	e := made.(*embedding)
	e.table[0], e.table[1] = 1, 1
	offsets, gradients := []int64{0}, []float32{}
	for i := range times {
		offsets = append(offsets, int64(i+1))
		gradients = append(gradients, 1e-8) // too little to change 1 alone
	}
	call := &comm.TableCall{Update: true, Offsets: offsets, Indices: make([]int64, times), Values: gradients, Stride: 1,
		Width: 1}
	for range 2 {
		if err := made.Update(call); err != nil {
			t.Fatal(err)
		}
	}
	if got := 1 - float64(e.table[0]); got < 1.99e-5 || got > 2.01e-5 || e.table[1] != 1 {
		t.Errorf("2000 gradients of 1e-8 moved the row by %g; the other one is %g", got, e.table[1])
	}
}
