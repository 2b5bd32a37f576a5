//go:build nvidia

package models_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	ondevicecriteria "github.com/psbench/psbench/cuda/compute/criteria"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	ondevice "github.com/psbench/psbench/cuda/compute/models"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/plugins/models"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

func TestMain(m *testing.M) { computetest.Main(m) }

var must = computetest.Must

// replica is a model with everything to train it, on some engine.
type replica struct {
	engine    engine.Engine
	model     sdk.Model
	criterion sdk.Criterion
	optimizer optimizer.Optimizer
	specs     []sdk.ParameterSpec
	values    []tensor.Tensor
	gradients []*tensor.Gradient
	output    []float32 // gradient of the output
	emitted   []int
	rows      [][]int32 // by parameter: rows at the time of emission
	seen      [][]float32
	tickets   []engine.Ticket
}

const capacity = 64 // most rows of a sparse gradient

func build[P any](t *testing.T, parts []sdk.Part, key, settings string, env any) P {
	t.Helper()
	i := slices.IndexFunc(parts, func(p sdk.Part) bool { return p.Key == key })
	made, err := parts[i].Build([]byte(settings), env)
	must(t, err)
	return made.(P)
}

func newReplica(t *testing.T, e engine.Engine, key, settings, criterion string, o optimizer.Settings) *replica {
	t.Helper()
	modelParts, criterionParts := models.Parts(), criteria.Parts()
	if e != engine.Host {
		modelParts, criterionParts = ondevice.Parts(), ondevicecriteria.Parts()
	}
	r := &replica{
		engine: e,
		model: build[sdk.Model](t, modelParts, key, settings,
			sdk.ModelEnv{MaxBatch: 2, Threads: 1, FirstTensor: 3, Recorder: &sdk.Recorder{}, Engine: e}),
		criterion: build[sdk.Criterion](t, criterionParts, criterion, "{}", sdk.CriterionEnv{MaxBatch: 2, Engine: e}),
	}
	r.specs = r.model.Parameters()
	for _, spec := range r.specs {
		values, err := engine.Floats(e, tensor.Elements(spec.Shape))
		must(t, err)
		r.values = append(r.values, tensor.Tensor{Shape: spec.Shape, Data: values})
		room := tensor.Elements(spec.Shape)
		g := &tensor.Gradient{}
		if spec.Sparse {
			room = capacity * spec.Shape[1]
			g.Width, g.Rows = spec.Shape[1], make([]int32, 0, capacity)
		}
		memory, err := engine.Floats(e, room)
		must(t, err)
		if g.Values = memory; spec.Sparse {
			g.Values = memory[:0]
		}
		r.gradients = append(r.gradients, g)
	}
	must(t, r.model.Bind(r.values, r.gradients))
	var err error
	r.optimizer, err = optimizer.New(e, o, r.values, r.gradients)
	must(t, err)
	r.model.Initialize(7)
	must(t, r.optimizer.Reset())
	r.rows, r.seen, r.tickets = make([][]int32, len(r.specs)), make([][]float32, len(r.specs)), make([]engine.Ticket,
		len(r.specs))
	return r
}

// emit copies a gradient out like a trainer, without waiting.
func (r *replica) emit(k int) {
	r.emitted = append(r.emitted, k)
	g := r.gradients[k]
	r.rows[k] = slices.Clone(g.Rows)
	r.seen[k] = make([]float32, len(g.Values))
	r.tickets[k] = r.engine.CopyOut(tensor.Float32Bytes(r.seen[k]), tensor.Float32Bytes(g.Values))
}

// step runs one iteration. step writes the features' gradient to input, unless input is nil.
func (r *replica) step(t *testing.T, b *sdk.Batch, input []float32) (loss float64) {
	t.Helper()
	output, err := r.model.Forward(b)
	must(t, err)
	loss, err = r.criterion.Forward(output, b.Targets)
	must(t, err)
	r.output, err = engine.Grow(r.engine, r.output, len(output.Data))
	must(t, err)
	gradient := tensor.Tensor{Shape: output.Shape, Data: r.output}
	must(t, r.criterion.Backward(gradient))
	r.emitted = r.emitted[:0]
	if input != nil {
		must(t, r.model.(sdk.FeatureModel).BackwardInput(gradient, input, r.emit))
	} else {
		must(t, r.model.Backward(gradient, r.emit))
	}
	for _, ticket := range r.tickets {
		must(t, r.engine.Wait(ticket))
	}
	must(t, r.optimizer.Step())
	return loss
}

// parameters returns the parameters' values on the host.
func (r *replica) parameters(t *testing.T) [][]float32 {
	t.Helper()
	var out [][]float32
	for _, v := range r.values {
		host := make([]float32, len(v.Data))
		must(t, engine.Out(r.engine, host, v.Data))
		out = append(out, host)
	}
	return out
}

// draw returns a batch of n samples that a model accepts.
func draw(in sdk.InputSpec, n, seed int) *sdk.Batch {
	b := &sdk.Batch{Features: computetest.Random(n*in.Features, uint64(seed))}
	state := uint64(seed)
	next := func(below int) int64 {
		state = state*6364136223846793005 + 1442695040888963407
		return int64((state >> 33) % uint64(below))
	}
	for range n {
		var bag []int64
		for _, rows := range in.Tables {
			bag = append(bag, next(rows))
		}
		if in.Rows > 0 {
			for range next(5) { // some bags are empty, some contain a row twice
				bag = append(bag, next(in.Rows))
			}
		}
		if in.LookedUp > 0 || in.Rows == 0 && in.Tables == nil {
			b.Targets = append(b.Targets, next(in.Classes))
			continue
		}
		b.Append(bag, next(in.Classes))
	}
	return b
}

const (
	dummySettings = `{"num_embeddings": 23, "embedding_dim": 12, "dense_input_size": 12, "dense_output_size": 12, "dense_layers_count": 3, "sparse": %v}`
	dlrmSettings  = `{"table_rows": [50, 7], "dense_features": 5, "embedding_dim": 4, "bottom_layers": [8, 4], "top_layers": [8, 1], "sparse": %v, "tables": %q}`
)

var cases = []struct{ name, key, settings, criterion string }{
	{"dummy", "dummy", fmt.Sprintf(dummySettings, false), "cel"},
	{"dummy sparse", "dummy", fmt.Sprintf(dummySettings, true), "cel"},
	{"dummy of one layer", "dummy",
		`{"num_embeddings": 9, "embedding_dim": 5, "dense_input_size": 5, "dense_output_size": 7, "dense_layers_count": 1}`,
		"mse"},
	{"mlp", "mlp", `{"sizes": [7, 33, 10], "relu_after": [1]}`, "cel"},
	{"mlp with a last ReLU", "mlp", `{"sizes": [3, 8, 2], "relu_after": [1, 2]}`, "l1"},
	{"mlp log softmax", "mlp", `{"sizes": [4, 6, 5], "relu_after": [1], "output": "log_softmax"}`, "nll"},
	{"dlrm", "dlrm", fmt.Sprintf(dlrmSettings, false, "model"), "bce"},
	{"dlrm sparse", "dlrm", fmt.Sprintf(dlrmSettings, true, "model"), "bce"},
	{"dlrm with tables on servers", "dlrm", fmt.Sprintf(dlrmSettings, true, "servers"), "bce"},
}

// Over several steps, losses, emitted gradients and parameters match those of the host.
func TestModelsTrainAsOnTheHost(t *testing.T) {
	d := computetest.Open(t)
	for _, c := range cases {
		for _, o := range []optimizer.Settings{
			{Optimizer: optimizer.SGD, LR: 0.5, Momentum: 0.9},
			{Optimizer: optimizer.Adam, LR: 0.01, Beta1: 0.9, Beta2: 0.999},
			{Optimizer: optimizer.RowwiseAdagrad, LR: 0.1},
		} {
			t.Run(c.name+" "+o.Optimizer,
				func(t *testing.T) { trainsAsOnTheHost(t, d, c.key, c.settings, c.criterion, o) })
		}
	}
}

func trainsAsOnTheHost(t *testing.T, d *device.Device, key, settings, criterion string, o optimizer.Settings) {
	host, dev := newReplica(t, engine.Host, key, settings, criterion, o), newReplica(t, d, key, settings, criterion, o)
	for k, v := range dev.parameters(t) {
		computetest.Near(t, "initial values", v, host.values[k].Data, 0)
	}
	in := host.model.Inputs()
	for step, samples := range []int{2, 1, 5, 2} {
		b := draw(in, samples, step+1)
		var wantInput, gotInput []float32
		if _, learnt := host.model.(sdk.FeatureModel); learnt && (in.LookedUp > 0 || step%2 == 1) {
			wantInput, gotInput = make([]float32, len(b.Features)), make([]float32, len(b.Features))
		}
		want, got := host.step(t, b, wantInput), dev.step(t, b, gotInput)
		if math.Abs(got-want) > 2e-5*max(1, math.Abs(want)) {
			t.Errorf("the loss of step %d is %.8g, want %.8g", step, got, want)
		}
		computetest.Near(t, "gradient of the features", gotInput, wantInput, 2e-5)
		if !slices.Equal(dev.emitted, host.emitted) {
			t.Errorf("parameters are emitted in order %v, want %v", dev.emitted, host.emitted)
		}
		for k := range host.values {
			if !slices.Equal(dev.rows[k], host.rows[k]) {
				t.Errorf("the gradient of parameter %d has rows %v, want %v", k, dev.rows[k], host.rows[k])
			}
			computetest.Near(t, fmt.Sprintf("gradient %d of step %d", k, step), dev.seen[k], host.seen[k], 2e-5)
		}
		for k, v := range dev.parameters(t) {
			computetest.Near(t, fmt.Sprintf("parameter %d after step %d", k, step), v, host.values[k].Data, 1e-3)
		}
	}
}

// An iteration launches work and waits only for the loss. After the largest batch, it allocates nothing.
func TestIterationsDoNotAllocate(t *testing.T) {
	d := computetest.Open(t)
	for _, c := range cases {
		r := newReplica(t, d, c.key, c.settings, c.criterion, optimizer.Settings{Optimizer: optimizer.SGD, LR: 0.1})
		b := draw(r.model.Inputs(), 2, 1)
		var input []float32
		if r.model.Inputs().LookedUp > 0 {
			input = make([]float32, len(b.Features))
		}
		r.step(t, b, input)
		gradient := tensor.Tensor{Shape: []int{2, len(r.output) / 2}, Data: r.output}
		emit := func(int) {}
		if n := testing.AllocsPerRun(5, func() {
			output, _ := r.model.Forward(b)
			_, _ = r.criterion.Forward(output, b.Targets)
			_ = r.criterion.Backward(gradient)
			if input != nil {
				_ = r.model.(sdk.FeatureModel).BackwardInput(gradient, input, emit)
			} else {
				_ = r.model.Backward(gradient, emit)
			}
			_ = r.optimizer.Step()
		}); n != 0 {
			t.Errorf("an iteration of %s allocates %g times", c.name, n)
		}
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	d := computetest.Open(t)
	env := sdk.ModelEnv{MaxBatch: 2, Engine: d}
	for settings, want := range map[string]string{
		`{"blas": "openblas"}`:   `setting blas is "openblas" but must be auto: on cuda:0 matrices are multiplied by cuBLAS, or by psbench's own kernels where that is missing`,
		`{"engine": "gorgonia"}`: `setting engine is "gorgonia" but must be layers: cuda:0 has no graphs`,
		`{"embedding_dim": 3}`:   "layer sizes do not fit: embedding_dim is 3 and dense_input_size is 1024 but they must be equal",
	} {
		if _, err := ondevice.Parts()[1].Build([]byte(settings), env); err == nil || err.Error() != want {
			t.Errorf("%s gives %v, want %s", settings, err, want)
		}
	}
	env.Engine = engine.Host
	if _, err := ondevice.Parts()[1].Build([]byte("{}"), env); err == nil ||
		!strings.HasPrefix(err.Error(), "it computes on a CUDA device") {
		t.Errorf("on the host it is built with %v", err)
	}
	for _, c := range cases {
		r := newReplica(t, d, c.key, c.settings, c.criterion, optimizer.Settings{Optimizer: optimizer.SGD, LR: 0.1})
		if _, err := r.model.Forward(&sdk.Batch{}); err == nil ||
			err.Error() != "a batch has 0 samples but must have at least 1" {
			t.Errorf("%s: an empty batch gives %v", c.name, err)
		}
		backward := r.model.Backward
		if f, ok := r.model.(sdk.FeatureModel); ok {
			backward = func(g tensor.Tensor, emit func(int)) error { return f.BackwardInput(g, nil, emit) }
		}
		if err := backward(tensor.Tensor{}, nil); err == nil ||
			!strings.HasSuffix(err.Error(), "model cannot go backward before it went forward") {
			t.Errorf("%s goes backward first with %v", c.name, err)
		}
	}
}

// A copy in to parameters waits for the passes that read them, even if the parameters were copied out before.
func TestPassesComeBeforeCopiesIn(t *testing.T) {
	d := computetest.Open(t)
	for _, c := range cases {
		r := newReplica(t, d, c.key, c.settings, c.criterion, optimizer.Settings{Optimizer: optimizer.SGD, LR: 0.1})
		b := draw(r.model.Inputs(), 2, 1)
		var input []float32
		if r.model.Inputs().LookedUp > 0 {
			input = make([]float32, len(b.Features))
		}
		r.step(t, b, input)
		forward := func() []float32 {
			output, err := r.model.Forward(b)
			must(t, err)
			return output.Data
		}
		want := computetest.Out(t, d, forward())
		r.parameters(t)
		output := forward()
		for _, v := range r.values {
			must(t, engine.In(d, v.Data, make([]float32, len(v.Data))))
		}
		computetest.Near(t, c.name+": the output of the parameters before", computetest.Out(t, d, output), want, 0)
		readBackward(t, d, r, b, input)
	}
}

// readBackward does the same for a backward pass.
func readBackward(t *testing.T, d *device.Device, r *replica, b *sdk.Batch, input []float32) {
	t.Helper()
	gradient := tensor.Tensor{Shape: []int{2, len(r.output) / 2}, Data: r.output}
	backward := func(between func()) (seen [][]float32) {
		r.model.Initialize(3)
		_, err := r.model.Forward(b)
		must(t, err)
		r.parameters(t)
		if input != nil {
			must(t, r.model.(sdk.FeatureModel).BackwardInput(gradient, input, func(int) {}))
		} else {
			must(t, r.model.Backward(gradient, func(int) {}))
		}
		between()
		for _, g := range r.gradients {
			seen = append(seen, computetest.Out(t, d, g.Values))
		}
		return seen
	}
	want := backward(func() {})
	got := backward(func() {
		for _, v := range r.values {
			must(t, engine.In(d, v.Data, make([]float32, len(v.Data))))
		}
	})
	for k := range want {
		computetest.Near(t, fmt.Sprintf("gradient %d of the parameters before", k), got[k], want[k], 0)
	}
}
