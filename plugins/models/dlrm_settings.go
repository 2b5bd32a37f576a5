package models

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
)

// DLRMSettings are the settings of the deep learning recommendation model.
type DLRMSettings struct {
	DenseFeatures int    `json:"dense_features" doc:"numbers of a sample"`
	TableRows     []int  `json:"table_rows" doc:"rows of each embedding table; a sample has an index for each"`
	EmbeddingDim  int    `json:"embedding_dim" doc:"columns of every table"`
	BottomLayers  []int  `json:"bottom_layers" doc:"outputs of each bottom layer, with a ReLU after it; the last equals embedding_dim"`
	TopLayers     []int  `json:"top_layers" doc:"outputs of each top layer, with a ReLU after all but the last, which has 1"`
	Sparse        bool   `json:"sparse" doc:"give the tables' gradient as rows"`
	Tables        string `json:"tables" doc:"where the tables are: model, or servers (the trainer looks rows up)"`
	BLAS          string `json:"blas" doc:"what multiplies matrices: auto, openblas, mkl, blis, native or gonum"`
}

// Where the tables are.
const (
	TablesInModel   = "model"
	TablesOnServers = "servers"
)

// DefaultDLRM is a model of click logs that a laptop can train. DefaultDLRM takes 13 numbers and 26 categories. The
// tables have 4.2 million parameters, and the layers 0.48 million.
var DefaultDLRM = DLRMSettings{
	DenseFeatures: 13,
	TableRows:     slices.Repeat([]int{10_000}, 26),
	EmbeddingDim:  16,
	BottomLayers:  []int{512, 256, 64, 16},
	TopLayers:     []int{512, 256, 1},
	Sparse:        true,
	Tables:        TablesInModel,
	BLAS:          blas.Auto,
}

// Embedding returns the number of the tables' parameter. This parameter comes after the bottom layers and before
// the top layers. If the tables are on servers, the top layers begin at this number.
func (s DLRMSettings) Embedding() int { return 2 * len(s.BottomLayers) }

// Top returns the number of the first parameter of the top layers.
func (s DLRMSettings) Top() int {
	if s.Tables == TablesInModel {
		return s.Embedding() + 1
	}
	return s.Embedding()
}

// Parameters lists the model's parameters.
func (s DLRMSettings) Parameters() []sdk.ParameterSpec {
	specs := layerSpecs("bottom_", s.BottomSizes())
	if s.Tables == TablesInModel {
		rows := 0
		for _, n := range s.TableRows {
			rows += n
		}
		specs = append(specs,
			sdk.ParameterSpec{Name: "embedding", Shape: []int{rows, s.EmbeddingDim}, Sparse: s.Sparse})
	}
	return append(specs, layerSpecs("top_", s.TopSizes())...)
}

// Inputs describes the input that the model accepts.
func (s DLRMSettings) Inputs() sdk.InputSpec {
	in := sdk.InputSpec{Features: s.DenseFeatures, Classes: 2, Outputs: 1, Tables: slices.Clone(s.TableRows)}
	if s.Tables == TablesOnServers {
		in.LookedUp = s.LookedUp()
		in.Features += in.LookedUp
	}
	return in
}

// Draw writes the initial values of a parameter. Each parameter has its own stream. If the model has the tables,
// they use stream firstTensor and the layers use the next streams. A table is uniform in [-1, 1) / sqrt(its rows),
// as in the original. A layer is uniform in [-1, 1) / sqrt(its inputs); the original uses a normal distribution
// there.
func (s DLRMSettings) Draw(seed uint64, firstTensor, parameter int, values []float32) {
	layers := firstTensor // the stream of the first bottom layer
	if s.Tables == TablesInModel {
		layers++
	}
	switch {
	case parameter < s.Embedding():
		drawLayers(seed, layers, s.BottomSizes(), parameter, values)
	case parameter >= s.Top():
		drawLayers(seed, layers+s.Embedding(), s.TopSizes(), parameter-s.Top(), values)
	default:
		splitmix.Uniform(seed, uint64(firstTensor), values, 1) // #nosec G115 -- a tensor's number
		for _, rows := range s.TableRows {
			n := rows * s.EmbeddingDim
			vec.Scale(float32(1/math.Sqrt(float64(rows))), values[:n])
			values = values[n:]
		}
	}
}

// maxTables limits the size of the interaction, which grows with the square of the number of tables and is a
// layer's input.
const maxTables = 1000

// BottomSizes are the input size and then the output size of each bottom layer.
func (s DLRMSettings) BottomSizes() []int {
	return append([]int{s.DenseFeatures}, s.BottomLayers...)
}

// TopSizes are the input size and then the output size of each top layer. The input consists of a dense vector and
// the products of every two vectors.
func (s DLRMSettings) TopSizes() []int {
	tables := len(s.TableRows)
	return append([]int{s.EmbeddingDim + tables*(tables+1)/2}, s.TopLayers...)
}

// LookedUp returns how many numbers a sample's rows have in total.
func (s DLRMSettings) LookedUp() int { return len(s.TableRows) * s.EmbeddingDim }

// Check returns an error for settings that are out of range, do not fit together, or make a model too large for any
// machine. A maxBatch of 0 means that the batch size is unknown.
func (s DLRMSettings) Check(maxBatch int) error {
	if s.Tables != TablesInModel && s.Tables != TablesOnServers {
		return fmt.Errorf("setting tables is %s but must be %s or %s", quote.String(s.Tables), TablesInModel,
			TablesOnServers)
	}
	for _, size := range []struct {
		name  string
		value int
	}{{"dense_features", s.DenseFeatures}, {"embedding_dim", s.EmbeddingDim}} {
		if size.value < 1 || size.value > maxSize {
			return fmt.Errorf("setting %s is %d but must be from 1 to %d", size.name, size.value, maxSize)
		}
	}
	for _, list := range []struct {
		name, what string
		length     int
		limit      int
	}{
		{"table_rows", "the rows of each table", len(s.TableRows), maxTables},
		{"bottom_layers", "the outputs of each layer", len(s.BottomLayers), maxLayers},
		{"top_layers", "the outputs of each layer", len(s.TopLayers), maxLayers},
	} {
		if list.length < 1 || list.length > list.limit {
			return fmt.Errorf("setting %s has length %d but must have 1 to %d numbers: %s", list.name, list.length,
				list.limit, list.what)
		}
	}
	rows, err := s.checkTables()
	if err != nil {
		return err
	}
	layers, err := s.checkLayers()
	if err != nil {
		return err
	}
	if parameters := rows*float64(s.EmbeddingDim) + layers; parameters > maxElements {
		return fmt.Errorf("a model of %.3g parameters is too large: the limit is %.3g", parameters,
			float64(maxElements))
	}
	return s.checkActivations(maxBatch)
}

// checkTables checks the tables and counts their rows.
func (s DLRMSettings) checkTables() (rows float64, err error) {
	for k, n := range s.TableRows {
		if n < 1 || n > maxSize {
			return 0, fmt.Errorf("setting table_rows[%d] is %d but must be from 1 to %d", k, n, maxSize)
		}
		rows += float64(n)
	}
	if rows > math.MaxInt32 {
		return 0, fmt.Errorf("setting table_rows has %.0f rows in all tables together but the limit is %d", rows,
			math.MaxInt32)
	}
	return rows, nil
}

// checkLayers checks the layers and counts their parameters.
func (s DLRMSettings) checkLayers() (parameters float64, err error) {
	bottom, err := checkSizes("bottom_layers", s.BottomLayers)
	if err != nil {
		return 0, err
	}
	top, err := checkSizes("top_layers", s.TopLayers)
	if err != nil {
		return 0, err
	}
	if last := s.BottomLayers[len(s.BottomLayers)-1]; last != s.EmbeddingDim {
		return 0, fmt.Errorf(
			"layer sizes do not fit: the last of bottom_layers is %d and embedding_dim is %d but they must be equal",
			last, s.EmbeddingDim)
	}
	if last := s.TopLayers[len(s.TopLayers)-1]; last != 1 {
		return 0, fmt.Errorf("layer sizes do not fit: the last of top_layers is %d but must be 1, the logit", last)
	}
	first := func(sizes []int) float64 { return float64(sizes[1]) * float64(sizes[0]+1) }
	return bottom + first(s.BottomSizes()) + top + first(s.TopSizes()), nil
}

// checkActivations returns an error if a batch's activations are too large for any machine.
func (s DLRMSettings) checkActivations(maxBatch int) error {
	numbers := 2 * float64(s.LookedUp())
	for _, sizes := range [][]int{s.BottomSizes(), s.TopSizes()} {
		for _, size := range sizes {
			numbers += float64(size)
		}
		numbers += 2 * float64(slices.Max(sizes))
	}
	if activations := numbers * float64(maxBatch); activations > maxElements {
		return fmt.Errorf("a largest batch of %d samples makes %.3g activations, which is too many: the limit is %.3g",
			maxBatch, activations, float64(maxElements))
	}
	return nil
}
