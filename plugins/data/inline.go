package data

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/sdk"
)

// InlineSettings are samples written out in the configuration.
type InlineSettings struct {
	Inputs   [][]int64   `json:"inputs" doc:"a list of indices for each sample"`
	Features [][]float32 `json:"features" doc:"a list of numbers for each sample, instead of indices or beside them"`
	Targets  []int64     `json:"targets" doc:"a target for each sample; beside indices equally many for each, those of the first sample first"`
	Batches  []int       `json:"batches" doc:"samples of each batch; empty: the run's batch size cuts them"`
}

// DefaultInline has no samples: they are to be given.
var DefaultInline = InlineSettings{Inputs: [][]int64{}, Features: [][]float32{}, Targets: []int64{}, Batches: []int{}}

type inline struct {
	settings InlineSettings
	targets  int // of each sample
}

// NewInline provides the samples of its settings. No samples, lists that do not fit
// together and negative indices and targets are errors.
func NewInline(s InlineSettings, _ sdk.DataEnv) (sdk.Data, error) {
	samples := max(len(s.Inputs), len(s.Features))
	if err := s.check(samples); err != nil {
		return nil, err
	}
	d := inline{s, len(s.Targets) / samples}
	for i, input := range s.Inputs {
		for j, index := range input {
			if index < 0 {
				return nil, fmt.Errorf("%s is %d but must be 0 or more", d.origin(i, j), index)
			}
		}
	}
	for i, target := range s.Targets {
		if target < 0 {
			return nil, fmt.Errorf("setting targets[%d] is %d but must be 0 or more", i, target)
		}
	}
	return d, nil
}

// check says where the lists do not fit together.
func (s InlineSettings) check(samples int) error {
	switch inputs, features, targets := len(s.Inputs), len(s.Features), len(s.Targets); {
	case samples == 0 && targets > 0:
		return fmt.Errorf("settings inputs and features are empty but targets has length %d", targets)
	case samples == 0:
		return errors.New("settings inputs and targets hold no samples: give at least one")
	case inputs > 0 && features > 0 && inputs != features:
		return fmt.Errorf("setting inputs has length %d and features has length %d but both must be equally long, or one empty", inputs, features)
	case inputs == 0 && targets != features:
		return fmt.Errorf("setting features has length %d and targets has length %d but there must be one target for each sample of features alone", features, targets)
	case targets == 0 || targets%samples != 0:
		return fmt.Errorf("setting inputs has length %d and targets has length %d but there must be one target for each input, or a multiple of that", inputs, targets)
	}
	for i, numbers := range s.Features {
		if len(numbers) == 0 || len(numbers) != len(s.Features[0]) {
			return fmt.Errorf("setting features[%d] has length %d but all must be equally long, and have 1 number at least", i, len(numbers))
		}
	}
	return nil
}

func (d inline) Load() (*sdk.Samples, error) {
	s := d.settings
	samples := &sdk.Samples{Origin: d.origin}
	if len(s.Inputs) > 0 {
		samples.Offsets = append(samples.Offsets, 0)
	}
	for _, input := range s.Inputs {
		samples.Indices = append(samples.Indices, input...)
		samples.Offsets = append(samples.Offsets, int64(len(samples.Indices)))
	}
	for _, numbers := range s.Features {
		samples.Features = append(samples.Features, numbers...)
	}
	samples.Targets = append(samples.Targets, s.Targets...)
	if len(s.Batches) > 0 {
		samples.Batches = s.Batches
	}
	return samples, nil
}

// origin is that of an index or, after those, of a feature, and at position -1 that of
// the sample's first target, at -2 of its second.
func (d inline) origin(sample, position int) string {
	indices := 0
	if len(d.settings.Inputs) > 0 {
		indices = len(d.settings.Inputs[sample])
	}
	switch {
	case position < 0:
		return fmt.Sprintf("setting targets[%d]", sample*d.targets-1-position)
	case position >= indices:
		return fmt.Sprintf("setting features[%d][%d]", sample, position-indices)
	default:
		return fmt.Sprintf("setting inputs[%d][%d]", sample, position)
	}
}
