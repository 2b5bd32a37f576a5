package servers

import (
	"fmt"
	"math"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// EmbeddingSettings are the settings of the embedding server.
type EmbeddingSettings struct {
	NumEmbeddings int     `json:"num_embeddings" doc:"rows of the table"`
	EmbeddingDim  int     `json:"embedding_dim" doc:"columns of the table"`
	Init          float64 `json:"init" doc:"bound of the initial values, which are uniform from -init to below init"`
	optimizer.Settings
}

// DefaultEmbedding are the default settings, taken from the original.
var DefaultEmbedding = EmbeddingSettings{NumEmbeddings: 300, EmbeddingDim: 64, Init: 1,
	Settings: optimizer.Defaults(0.05, 0)}

// Validate returns an error for sizes below 1 or above 2^31 - 1, for a negative bound of the initial values, and
// for settings that the optimizer refuses.
func (s EmbeddingSettings) Validate() error {
	for _, size := range []struct {
		name  string
		value int
	}{{"num_embeddings", s.NumEmbeddings}, {"embedding_dim", s.EmbeddingDim}} {
		if size.value < 1 || size.value > math.MaxInt32 {
			return fmt.Errorf("setting %s is %d but must be from 1 to %d", size.name, size.value, math.MaxInt32)
		}
	}
	if !(s.Init >= 0 && s.Init <= math.MaxFloat32) {
		return fmt.Errorf("setting init is %v but must be from 0 to %g", s.Init, math.MaxFloat32)
	}
	if err := s.Check(DefaultEmbedding.Settings); err != nil {
		return fmt.Errorf("setting %w", err)
	}
	return nil
}

// Draw writes the initial values of the table of the server at this position in the run. The values are uniform in
// [-init, init) and come from stream position.
func (s EmbeddingSettings) Draw(seed uint64, position int, table []float32) {
	splitmix.Uniform(seed, uint64(position), table, float32(s.Init)) // #nosec G115 -- not negative
}

// embedding holds an embedding table. A lookup answers each bag with the sum of its rows. An update adds up all
// gradients of a row; a row may occur in bags several times. Then the optimizer steps each row once. With SGD,
// separate steps would give the same result except for rounding. The rounding error of separate steps would be
// about a hundred times as large, because each step rounds to the row's precision and not to the gradient's. A call
// with n indices costs n*width additions. An update also costs the optimizer's step of at most n rows.
type embedding struct {
	settings EmbeddingSettings
	env      sdk.TableEnv
	table    []float32 // [rows, width]; nil until the first Reset

	values    []tensor.Tensor // the table as a tensor
	optimizer optimizer.Optimizer
	gradient  tensor.Gradient // gradient of an update: its rows, in the order of their first occurrence
	slots     []int32         // by row: 1 + the row's slot in gradient, 0 if it has none
	failed    error           // error of Reset
}

var _ sdk.Holder = (*embedding)(nil)

// NewEmbedding builds the server of an embedding table. NewEmbedding returns the errors of
// EmbeddingSettings.Validate.
func NewEmbedding(s EmbeddingSettings, env sdk.TableEnv) (sdk.TableServer, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := engine.NeedAddressable(env.Engine); err != nil {
		return nil, err
	}
	e := &embedding{
		settings: s, env: env,
		values:   []tensor.Tensor{{Shape: []int{s.NumEmbeddings, s.EmbeddingDim}}},
		gradient: tensor.Gradient{Width: s.EmbeddingDim},
	}
	var err error
	if e.optimizer, err = optimizer.New(env.Engine, s.Settings, e.values, []*tensor.Gradient{&e.gradient}); err != nil {
		return nil, fmt.Errorf("setting %w", err)
	}
	return e, nil
}

func (e *embedding) Table() comm.TableSpec {
	return comm.TableSpec{Rows: e.settings.NumEmbeddings, Width: e.settings.EmbeddingDim}
}

func (e *embedding) Lookup(call *comm.TableCall) error {
	if e.failed != nil {
		return e.failed
	}
	if e.table == nil {
		return fmt.Errorf("%s was asked before its table had values", e.env.Name)
	}
	for i := range call.Bags() {
		vec.GatherSum(call.Columns(i), e.table, e.settings.EmbeddingDim, call.Bag(i))
	}
	return nil
}

func (e *embedding) Update(call *comm.TableCall) error {
	if e.table == nil {
		return fmt.Errorf("%s was sent an update before its table had values", e.env.Name)
	}
	width, sum := e.settings.EmbeddingDim, &e.gradient
	sum.Rows, sum.Values = sum.Rows[:0], sum.Values[:0]
	for i := range call.Bags() {
		gradient := call.Columns(i)
		for _, row := range call.Bag(i) {
			if slot := int(e.slots[row]); slot > 0 {
				vec.Add(sum.Values[(slot-1)*width:slot*width], gradient)
				continue
			}
			sum.Rows = append(sum.Rows, int32(row)) // #nosec G115 -- the table has no more rows than that
			sum.Values = append(sum.Values, gradient...)
			e.slots[row] = int32(len(sum.Rows)) // #nosec G115 -- no more than there are rows
		}
	}
	for _, row := range sum.Rows {
		e.slots[row] = 0
	}
	return e.optimizer.Step()
}

// Reset draws the table. The first call allocates it: only then is it known that all servers' tables fit into
// memory.
func (e *embedding) Reset() {
	if e.table == nil {
		if e.table, e.failed = engine.Floats(e.env.Engine,
			e.settings.NumEmbeddings*e.settings.EmbeddingDim); e.failed != nil {
			return
		}
		e.values[0].Data = e.table
		e.slots = make([]int32, e.settings.NumEmbeddings)
	}
	e.settings.Draw(e.env.Seed, e.env.Position, e.table)
	e.failed = e.optimizer.Reset()
}

// Held implements sdk.Holder.
func (e *embedding) Held() ([]sdk.ParameterSpec, []tensor.Tensor) {
	return []sdk.ParameterSpec{{Name: "embedding", Shape: e.values[0].Shape}}, e.values
}
