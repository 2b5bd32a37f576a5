package main

import (
	"errors"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// planless is a trainer that comes no further than its plan.
type planless struct{ sdk.Trainer }

type rate struct {
	LR float64 `json:"lr" doc:"in vain"`
}

func (planless) Plan([]sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	return nil, errors.New("nothing can be planned")
}

// dummy are the settings of psbench's model of that name.
type dummy struct {
	NumEmbeddings    int  `json:"num_embeddings" doc:"as of dummy"`
	EmbeddingDim     int  `json:"embedding_dim" doc:"as of dummy"`
	DenseInputSize   int  `json:"dense_input_size" doc:"as of dummy"`
	DenseOutputSize  int  `json:"dense_output_size" doc:"as of dummy"`
	DenseLayersCount int  `json:"dense_layers_count" doc:"as of dummy"`
	Sparse           bool `json:"sparse" doc:"as of dummy"`
}

// narrow is a model that takes no sample of a reference case.
type narrow struct{ sdk.Model }

func (narrow) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{{Name: "weight", Shape: []int{1}}}
}

func (narrow) Inputs() sdk.InputSpec { return sdk.InputSpec{Rows: 1, Classes: 1} }
