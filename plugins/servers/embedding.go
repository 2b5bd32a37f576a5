package servers

import (
	"fmt"
	"math"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
)

// EmbeddingSettings are the settings of the server of an embedding table.
type EmbeddingSettings struct {
	NumEmbeddings int     `json:"num_embeddings" doc:"rows of the table"`
	EmbeddingDim  int     `json:"embedding_dim" doc:"columns of the table"`
	LR            float64 `json:"lr" doc:"learning rate of SGD"`
}

// DefaultEmbedding are the settings of the original.
var DefaultEmbedding = EmbeddingSettings{NumEmbeddings: 300, EmbeddingDim: 64, LR: 0.05}

// embedding holds an embedding table. A lookup answers each bag with the sum of its
// rows. An update adds up the gradients of the bags that name a row, once for each time
// that they name it, and then steps each row once: a step for every gradient would come
// to the same but for rounding, which is then that of the row and not of its gradients,
// a hundred times as much. A call of n indices costs n*width additions, and an update
// as many multiplications at most.
type embedding struct {
	settings EmbeddingSettings
	env      sdk.TableEnv
	table    []float32 // [rows, width]; nil until the first Reset

	places    []int32   // by row: 1 + its place among the distinct rows of an update, 0 if it has none
	distinct  []int64   // rows of an update
	gradients []float32 // of those rows, [distinct, width]
}

var _ sdk.Holder = (*embedding)(nil)

// NewEmbedding builds the server of an embedding table. Sizes below 1 or above
// 2^31 - 1 and an lr that is not above 0 are errors.
func NewEmbedding(s EmbeddingSettings, env sdk.TableEnv) (sdk.TableServer, error) {
	for _, size := range []struct {
		name  string
		value int
	}{{"num_embeddings", s.NumEmbeddings}, {"embedding_dim", s.EmbeddingDim}} {
		if size.value < 1 || size.value > math.MaxInt32 {
			return nil, fmt.Errorf("setting %s is %d but must be from 1 to %d", size.name, size.value, math.MaxInt32)
		}
	}
	if s.LR <= 0 {
		return nil, fmt.Errorf("setting lr is %v but must be above 0", s.LR)
	}
	return &embedding{settings: s, env: env}, nil
}

func (e *embedding) Table() comm.TableSpec {
	return comm.TableSpec{Rows: e.settings.NumEmbeddings, Width: e.settings.EmbeddingDim}
}

func (e *embedding) Lookup(call *comm.TableCall) error {
	if e.table == nil {
		return fmt.Errorf("%s was asked before its table had values", e.env.Name)
	}
	for i := range call.Bags() {
		sum := call.Columns(i)
		clear(sum)
		for _, row := range call.Bag(i) {
			vec.Add(sum, e.row(row))
		}
	}
	return nil
}

func (e *embedding) Update(call *comm.TableCall) error {
	if e.table == nil {
		return fmt.Errorf("%s was sent an update before its table had values", e.env.Name)
	}
	width := e.settings.EmbeddingDim
	e.distinct, e.gradients = e.distinct[:0], e.gradients[:0]
	for i := range call.Bags() {
		gradient := call.Columns(i)
		for _, row := range call.Bag(i) {
			if place := int(e.places[row]); place > 0 {
				vec.Add(e.gradients[(place-1)*width:place*width], gradient)
				continue
			}
			e.distinct = append(e.distinct, row)
			e.gradients = append(e.gradients, gradient...)
			e.places[row] = int32(len(e.distinct)) // #nosec G115 -- no more than there are rows
		}
	}
	for k, row := range e.distinct {
		vec.Axpy(-float32(e.settings.LR), e.gradients[k*width:(k+1)*width], e.row(row))
		e.places[row] = 0
	}
	return nil
}

func (e *embedding) row(row int64) []float32 {
	at := int(row) * e.settings.EmbeddingDim
	return e.table[at : at+e.settings.EmbeddingDim]
}

// Reset draws the table in [-1, 1) from the stream of the server's position. The first
// one allocates it: only by then are the tables of all servers known to fit into memory.
func (e *embedding) Reset() {
	if e.table == nil {
		e.table = make([]float32, e.settings.NumEmbeddings*e.settings.EmbeddingDim)
		e.places = make([]int32, e.settings.NumEmbeddings)
	}
	splitmix.Uniform(e.env.Seed, uint64(e.env.Position), e.table, 1) // #nosec G115 -- not negative
}

// Held implements sdk.Holder.
func (e *embedding) Held() ([]sdk.ParameterSpec, []comm.Tensor) {
	shape := []int{e.settings.NumEmbeddings, e.settings.EmbeddingDim}
	return []sdk.ParameterSpec{{Name: "embedding", Shape: shape}}, []comm.Tensor{{Shape: shape, Data: e.table}}
}
