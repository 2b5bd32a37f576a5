package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/sdk"
)

// InlineSettings are samples that the configuration lists itself.
type InlineSettings struct {
	Inputs   [][]int64      `json:"inputs" doc:"a list of indices for each sample"`
	Features [][]float32    `json:"features" doc:"a list of numbers for each sample, instead of indices or beside them"`
	Targets  []InlineTarget `json:"targets" doc:"a class or a number for each sample, or a list of them; beside indices, and as numbers, also equally many for each, those of the first sample first"`
	Batches  []int          `json:"batches" doc:"samples of each batch; empty: the run's batch size cuts them"`
}

// DefaultInline has no samples: the user must give them.
var DefaultInline = InlineSettings{Inputs: [][]int64{}, Features: [][]float32{}, Targets: []InlineTarget{},
	Batches: []int{}}

// InlineTarget holds one target of a sample, or all its targets.
type InlineTarget []float64

// UnmarshalJSON accepts a number, a list of numbers, or true and false, which become 1 and 0.
func (t *InlineTarget) UnmarshalJSON(raw []byte) error {
	if truth := numeral.Truth(string(raw)); truth != string(raw) {
		raw = []byte(truth)
	}
	if bytes.HasPrefix(raw, []byte("[")) {
		return json.Unmarshal(raw, (*[]float64)(t))
	}
	*t = InlineTarget{0}
	return json.Unmarshal(raw, &(*t)[0])
}

// Words describes the accepted values, for errors.
func (InlineTarget) Words() string { return "a number or a list of numbers" }

type inline struct {
	settings InlineSettings
	listed   bool // targets holds a list for each sample
	width    int  // targets per sample
	batch    sdk.Batch
}

// NewInline provides the samples of its settings. An empty list, lists that do not fit together, and negative
// indices or classes are errors.
func NewInline(s InlineSettings, env sdk.DataEnv) (sdk.Data, error) {
	w, err := wantedOf("auto", env)
	if err != nil {
		return nil, err
	}
	d := &inline{settings: s}
	all, whole, err := d.flatten()
	if err != nil {
		return nil, err
	}
	samples := max(len(s.Inputs), len(s.Features))
	if err := s.check(samples, len(all), w.targets != classes); err != nil {
		return nil, err
	}
	d.width = len(all) / samples
	for i, input := range s.Inputs {
		for j, index := range input {
			if index < 0 {
				return nil, fmt.Errorf("%s is %d but must be 0 or more", d.origin(i, j), index)
			}
		}
	}
	return d, d.setTargets(all, whole, w)
}

// flatten returns all targets in one list, and whether all are integers.
func (d *inline) flatten() (all []float64, whole bool, err error) {
	whole = true
	for i, targets := range d.settings.Targets {
		if i == 0 {
			d.listed = len(targets) != 1
		}
		if len(targets) == 0 || len(targets) != len(d.settings.Targets[0]) {
			return nil, false,
				fmt.Errorf("setting targets[%d] has length %d but all must be equally long, and have 1 target at least",
					i, len(targets))
		}
		for _, v := range targets {
			whole = whole && v == math.Trunc(v) && math.Abs(v) < 1<<53
		}
		all = append(all, targets...)
	}
	if samples := max(len(d.settings.Inputs), len(d.settings.Features)); d.listed &&
		len(d.settings.Targets) != samples {
		return nil, false, fmt.Errorf("setting targets has %d lists but there must be one for each of the %d samples",
			len(d.settings.Targets), samples)
	}
	return all, whole, nil
}

// setTargets stores the targets as classes or as numbers.
func (d *inline) setTargets(all []float64, whole bool, w wanted) error {
	if w.areNumbers(whole, len(d.settings.Inputs) > 0, d.width) {
		d.batch.TargetWidth = d.width
		for i, v := range all {
			d.batch.FloatTargets = append(d.batch.FloatTargets, float32(v))
			if w.targets == either && d.width == 1 && v != math.Trunc(v) {
				return fmt.Errorf("%s: %w", d.target(i),
					w.noClass(fmt.Sprint(v), errors.New("it must be a whole number")))
			}
		}
		return nil
	}
	for i, v := range all {
		switch {
		case v != math.Trunc(v):
			return fmt.Errorf("%s: %w", d.target(i),
				w.noClass(fmt.Sprint(v), fmt.Errorf("%v is not a class, a whole number of 0 or more", v)))
		case v < 0:
			return fmt.Errorf("%s is %v but must be 0 or more", d.target(i), v)
		}
		d.batch.Targets = append(d.batch.Targets, int64(v))
	}
	return nil
}

// target describes the i-th target of the flat list, for errors.
func (d *inline) target(i int) string {
	if d.listed {
		return fmt.Sprintf("setting targets[%d][%d]", i/d.width, i%d.width)
	}
	return fmt.Sprintf("setting targets[%d]", i)
}

// check returns an error if the lists do not fit together. Samples of features alone may have several targets if
// they are numbers.
func (s InlineSettings) check(samples, targets int, several bool) error {
	switch inputs, features := len(s.Inputs), len(s.Features); {
	case samples == 0 && targets > 0:
		return fmt.Errorf("settings inputs and features are empty but targets has length %d", targets)
	case samples == 0:
		return errors.New("settings inputs and targets hold no samples: give at least one")
	case inputs > 0 && features > 0 && inputs != features:
		return fmt.Errorf(
			"setting inputs has length %d and features has length %d but both must be equally long, or one empty",
			inputs, features)
	case inputs == 0 && targets != features && (!several || targets == 0 || targets%features != 0):
		return fmt.Errorf("setting features has length %d and targets has length %d but there must be one target for each sample of features alone",
			features, targets)
	case targets == 0 || targets%samples != 0:
		return fmt.Errorf("setting inputs has length %d and targets has length %d but there must be one target for each input, or a multiple of that",
			inputs, targets)
	}
	for i, numbers := range s.Features {
		if len(numbers) == 0 || len(numbers) != len(s.Features[0]) {
			return fmt.Errorf(
				"setting features[%d] has length %d but all must be equally long, and have 1 number at least", i,
				len(numbers))
		}
	}
	return nil
}

func (d *inline) Load() (*sdk.Samples, error) {
	s := d.settings
	samples := &sdk.Samples{Batch: d.batch, Origin: d.origin}
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
	if len(s.Batches) > 0 {
		samples.Batches = s.Batches
	}
	return samples, nil
}

// origin implements sdk.Samples.Origin.
func (d *inline) origin(sample, position int) string {
	indices := 0
	if len(d.settings.Inputs) > 0 {
		indices = len(d.settings.Inputs[sample])
	}
	switch {
	case position < 0:
		return d.target(sample*d.width - 1 - position)
	case position >= indices:
		return fmt.Sprintf("setting features[%d][%d]", sample, position-indices)
	default:
		return fmt.Sprintf("setting inputs[%d][%d]", sample, position)
	}
}
