package data

import (
	"fmt"

	"github.com/psbench/psbench/sdk"
)

// InlineSettings are samples written out in the configuration.
type InlineSettings struct {
	Inputs  [][]int64 `json:"inputs" doc:"a list of indices for each sample"`
	Targets []int64   `json:"targets" doc:"a target for each sample"`
}

// DefaultInline has no samples: they are to be given.
var DefaultInline = InlineSettings{Inputs: [][]int64{}, Targets: []int64{}}

type inline struct{ settings InlineSettings }

// NewInline provides the samples of its settings. No samples, lists of
// different lengths and negative numbers are errors.
func NewInline(s InlineSettings, _ sdk.DataEnv) (sdk.Data, error) {
	if len(s.Inputs) != len(s.Targets) {
		return nil, fmt.Errorf("there are %d inputs and %d targets but there must be one target for each input", len(s.Inputs), len(s.Targets))
	}
	if len(s.Inputs) == 0 {
		return nil, fmt.Errorf("settings inputs and targets hold no samples: give at least one")
	}
	for i, input := range s.Inputs {
		for j, index := range input {
			if index < 0 {
				return nil, fmt.Errorf("%s is %d but must be 0 or more", inlineOrigin(i, j), index)
			}
		}
		if target := s.Targets[i]; target < 0 {
			return nil, fmt.Errorf("%s is %d but must be 0 or more", inlineOrigin(i, -1), target)
		}
	}
	return inline{s}, nil
}

func (d inline) Load() (*sdk.Samples, error) {
	samples := &sdk.Samples{Origin: inlineOrigin}
	for i, input := range d.settings.Inputs {
		samples.Append(input, d.settings.Targets[i])
	}
	return samples, nil
}

func inlineOrigin(sample, position int) string {
	if position < 0 {
		return fmt.Sprintf("setting targets[%d]", sample)
	}
	return fmt.Sprintf("setting inputs[%d][%d]", sample, position)
}
