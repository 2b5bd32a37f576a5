package models

import (
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// recommender is a dlrm with the storage of its parameters.
type recommender struct {
	*dlrm
	*storage
}

func newRecommender(t fatal, s DLRMSettings, env sdk.ModelEnv) *recommender {
	if s.BLAS == "" {
		s.BLAS = blas.Gonum
	}
	env.Engine = engine.Host
	model, err := NewDLRM(s, env)
	if err != nil {
		t.Fatal(err)
	}
	r := &recommender{model.(*dlrm), bind(t, model)}
	r.Initialize(1)
	return r
}

// layerParameters returns the numbers of the layers' parameters.
func (r *recommender) layerParameters() []int {
	var out []int
	for k := range r.params {
		if r.tables == nil || k != r.settings.Embedding() {
			out = append(out, k)
		}
	}
	return out
}

// clicks returns samples with numbers and indices from stream number.
func clicks(s DLRMSettings, samples, number int) *sdk.Batch {
	b := &sdk.Batch{Features: make([]float32, samples*s.DenseFeatures)}
	splitmix.Uniform(3, uint64(number), b.Features, 1)
	random := splitmix.New(5, uint64(number))
	for range samples {
		var bag []int64
		for _, rows := range s.TableRows {
			bag = append(bag, int64(random.IntN(rows)))
		}
		b.Append(bag, int64(random.IntN(2)))
	}
	return b
}

// lookedUp returns b in the form that a model gets from a trainer that looked up the rows on servers.
func lookedUp(s DLRMSettings, b *sdk.Batch, stack []float32) *sdk.Batch {
	out := &sdk.Batch{Targets: b.Targets}
	for i := range b.Size() {
		out.Features = append(out.Features, b.Features[i*s.DenseFeatures:(i+1)*s.DenseFeatures]...)
		first := 0
		for k, index := range b.Bag(i) {
			at := (first + int(index)) * s.EmbeddingDim
			out.Features = append(out.Features, stack[at:at+s.EmbeddingDim]...)
			first += s.TableRows[k]
		}
	}
	return out
}

func drawDLRM(t *rapid.T) DLRMSettings {
	layer := rapid.IntRange(1, 7)
	s := DLRMSettings{
		DenseFeatures: rapid.IntRange(1, 5).Draw(t, "numbers"),
		TableRows:     rapid.SliceOfN(rapid.IntRange(1, 9), 1, 5).Draw(t, "rows"),
		EmbeddingDim:  rapid.IntRange(1, 5).Draw(t, "dim"),
		BottomLayers:  rapid.SliceOfN(layer, 0, 2).Draw(t, "bottom"),
		TopLayers:     rapid.SliceOfN(layer, 0, 2).Draw(t, "top"),
		Tables:        TablesInModel,
	}
	s.BottomLayers, s.TopLayers = append(s.BottomLayers, s.EmbeddingDim), append(s.TopLayers, 1)
	return s
}
