package hybrid

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/plugins/models"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/plugins/servers"
	"github.com/psbench/psbench/plugins/trainers/internal/trainertest"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// recommendation is a dlrm that trains in two ways: with its tables in the model and with its tables on servers.
type recommendation struct {
	settings models.DLRMSettings
	servers  int
	lookup   string
	batches  []sdk.Batch
}

const (
	rowsLR   = 0.3
	rowsSeed = 9
)

func drawRecommendation(t *rapid.T) recommendation {
	r := recommendation{
		servers: rapid.SampledFrom([]int{1, 2, 3}).Draw(t, "servers"),
		lookup:  rapid.SampledFrom([]string{"parallel", "serial"}).Draw(t, "lookup"),
		settings: models.DLRMSettings{
			DenseFeatures: rapid.IntRange(1, 4).Draw(t, "numbers"),
			TableRows:     rapid.SliceOfN(rapid.IntRange(1, 6), 1, 4).Draw(t, "rows"),
			EmbeddingDim:  6, BottomLayers: []int{5, 6}, TopLayers: []int{4, 1}, Sparse: true, BLAS: blas.Gonum,
		},
	}
	for number := range rapid.IntRange(1, 4).Draw(t, "batches") {
		r.batches = append(r.batches, r.batch(rapid.IntRange(1, 7).Draw(t, "samples"), uint64(number)))
	}
	return r
}

func (r *recommendation) batch(samples int, number uint64) sdk.Batch {
	b := sdk.Batch{Features: make([]float32, samples*r.settings.DenseFeatures)}
	splitmix.Uniform(3, number, b.Features, 1)
	random := splitmix.New(5, number)
	for range samples {
		var bag []int64
		for _, rows := range r.settings.TableRows {
			bag = append(bag, int64(random.IntN(rows)))
		}
		b.Append(bag, int64(random.IntN(2)))
	}
	return b
}

// asked returns the lookup that servers get for a batch: each index is a bag with one row of the stack.
func (r *recommendation) asked(b sdk.Batch) sdk.Batch {
	out := sdk.Batch{}
	for i := range b.Size() {
		first := int64(0)
		for k, index := range b.Bag(i) {
			out.Append([]int64{first + index})
			first += int64(r.settings.TableRows[k])
		}
	}
	return out
}

func (r *recommendation) model(t *rapid.T, tables string, firstTensor int) sdk.Model {
	s := r.settings
	s.Tables = tables
	model, err := models.NewDLRM(s, sdk.ModelEnv{FirstTensor: firstTensor, Engine: engine.Host})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func logLoss(t *rapid.T) sdk.Criterion {
	criterion, err := criteria.NewBinaryCrossEntropy(struct{}{}, sdk.CriterionEnv{Engine: engine.Host})
	if err != nil {
		t.Fatal(err)
	}
	return criterion
}

// inModel trains with the tables in the model. inModel returns the losses and the initial stack of tables. inModel
// also returns the trained parameters, stack first, and the output for the last batch.
func (r *recommendation) inModel(t *rapid.T) (losses []float64, initial []float32, values []tensor.Tensor,
	output []float32) {
	model := r.model(t, models.TablesInModel, r.servers-1)
	var gradients []*tensor.Gradient
	for _, p := range model.Parameters() {
		spec := tensor.BucketSpec{Elements: tensor.Elements(p.Shape)}
		if p.Sparse {
			spec = tensor.BucketSpec{Sparse: true, Width: p.Shape[1], Capacity: p.Shape[0]}
		}
		g := tensor.NewGradient(spec)
		values, gradients = append(values, tensor.New(p.Shape...)), append(gradients, &g)
	}
	require(t, model.Bind(values, gradients))
	model.Initialize(rowsSeed)
	stack := slices.IndexFunc(model.Parameters(), func(p sdk.ParameterSpec) bool { return p.Name == "embedding" })
	initial = slices.Clone(values[stack].Data)
	steps, err := optimizer.New(engine.Host, optimizer.Defaults(rowsLR, 0), values, gradients)
	require(t, err)
	criterion := logLoss(t)
	for i := range r.batches {
		out, err := model.Forward(&r.batches[i])
		require(t, err)
		loss, err := criterion.Forward(out, r.batches[i].Targets)
		require(t, err)
		losses = append(losses, loss)
		upstream := tensor.New(out.Shape...)
		require(t, criterion.Backward(upstream))
		require(t, model.Backward(upstream, func(int) {}))
		require(t, steps.Step())
	}
	out, err := model.Forward(&r.batches[len(r.batches)-1])
	require(t, err)
	tables := values[stack]
	values = slices.Insert(slices.Delete(values, stack, stack+1), 0, tables)
	return losses, initial, values, out.Data
}

// tablesOf returns servers that each hold their columns of the stack.
func (r *recommendation) tablesOf(t *rapid.T, stack []float32) []sdk.TableServer {
	dim := r.settings.EmbeddingDim
	width, rows := dim/r.servers, len(stack)/dim
	var out []sdk.TableServer
	for position := range r.servers {
		s, err := servers.NewEmbedding(
			servers.EmbeddingSettings{NumEmbeddings: rows, EmbeddingDim: width, Init: 1,
				Settings: optimizer.Defaults(rowsLR, 0)},
			sdk.TableEnv{Position: position, Trainers: 1, Recorder: &sdk.Recorder{}, Engine: engine.Host})
		require(t, err)
		s.Reset()
		_, held := s.(sdk.Holder).Held()
		for row := range rows {
			copy(held[0].Data[row*width:(row+1)*width], stack[row*dim+position*width:])
		}
		out = append(out, s)
	}
	return out
}

// A dlrm learns the same with its tables on any number of servers as with the tables in the model. A lookup for no
// batch in between changes nothing.
func TestTablesOnServersLearnAsInTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := drawRecommendation(rt)
		wantLosses, stack, want, wantOutput := r.inModel(rt)
		tables := r.tablesOf(rt, stack)
		var specs []comm.TableSpec
		for _, s := range tables {
			specs = append(specs, s.Table())
		}
		made, err := New(Settings{Settings: optimizer.Defaults(rowsLR, 0), Lookup: r.lookup,
			BucketSettings: dataparallel.BucketSettings{BucketBytes: 64}}, sdk.TrainerEnv{Epochs: 1, Seed: rowsSeed})
		require(rt, err)
		model := r.model(rt, models.TablesOnServers, r.servers)
		_, err = made.(sdk.InputPlanner).PlanInputs(model.Inputs(), specs)
		require(rt, err)
		parts := trainertest.Parts(t, made, model)
		var asked []sdk.Batch
		for _, b := range r.batches {
			asked = append(asked, r.asked(b))
		}
		parts.Batches, parts.Tables = sdk.NewBatches(r.batches), localTables(t, asked, tables...)
		parts.Hook, parts.Criterion = identity{comm.Completed(nil)}, logLoss(rt)
		require(rt, made.Attach(parts))
		require(rt, made.Reset())
		last := &r.batches[len(r.batches)-1]
		_, err = made.(*trainer).iteration.forwardAlone(last)
		require(rt, err)
		var told trainertest.Told
		require(rt, made.Train(rt.Context(), &told))
		requireNear(rt, "losses", told.Losses, wantLosses)
		for k, v := range parts.Values {
			requireNear(rt, fmt.Sprint("parameter ", k), v.Data, want[k+1].Data)
		}
		dim := r.settings.EmbeddingDim
		width := dim / r.servers
		for position, s := range tables {
			_, held := s.(sdk.Holder).Held()
			var columns []float32
			for row := range len(stack) / dim {
				columns = append(columns, want[0].Data[row*dim+position*width:][:width]...)
			}
			requireNear(rt, fmt.Sprint("table ", position), held[0].Data, columns)
		}
		output, err := made.(*trainer).iteration.forwardAlone(last)
		require(rt, err)
		requireNear(rt, "output", output.Data, wantOutput)
	})
}

func TestIterationsOfSeveralTablesAllocateNothing(t *testing.T) {
	f := &rowFeatures{tables: 2, numbers: 1, first: []int64{0, 3}}
	var err error
	if f.store, err = comm.NewLookupStore("trainer0",
		comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 7, Width: 2}}, Bags: 6, Indices: 6}); err != nil {
		t.Fatal(err)
	}
	batches := []sdk.Batch{
		{Features: []float32{1, 2, 3}, Indices: []int64{0, 1, 2, 3, 1, 2}, Offsets: []int64{0, 2, 4, 6}},
		{Features: []float32{1}, Indices: []int64{0, 1}, Offsets: []int64{0, 2}},
	}
	step := func() {
		for i := range batches {
			if err := f.ask(&batches[i]); err != nil {
				t.Fatal(err)
			}
			f.join(&batches[i])
			f.split(&batches[i])
		}
	}
	step()
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("two batches allocate %v times", n)
	}
}

func require(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func requireNear[T float32 | float64](t *rapid.T, what string, got, want []T) {
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers instead of %d", what, len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) <= 1e-5*max(1, math.Abs(float64(want[i])))) {
			t.Fatalf("%s, element %d: %v instead of %v", what, i, got[i], want[i])
		}
	}
}
