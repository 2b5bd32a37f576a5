package sweep

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
)

// DefaultRepeats is the number of rounds if a sweep does not set one.
const DefaultRepeats = 10

// Spec is the content of a specification file.
type Spec struct {
	SchemaURL string           `json:"$schema,omitempty"`
	Name      string           `json:"name,omitempty" doc:"what the sweep is called"`
	Question  string           `json:"question,omitempty" doc:"what it is to answer, in a sentence"`
	Base      map[string]any   `json:"base,omitempty" doc:"values that all cells have, as a configuration file has them"`
	Axes      []map[string]any `json:"axes" jsonschema:"required" doc:"what differs between cells; the last axis changes fastest"`
	Include   []map[string]any `json:"include,omitempty" doc:"rules: only cells that one of them fits are run"`
	Exclude   []map[string]any `json:"exclude,omitempty" doc:"rules: cells that one of them fits are not run"`
	Repeats   int              `json:"repeats,omitempty" jsonschema:"minimum=1,maximum=1000000" doc:"rounds: runs of every cell; 10 by default"`
	Seed      uint64           `json:"seed,omitempty" doc:"seed of the order of the cells in each round; 0 by default"`
	Baseline  map[string]any   `json:"baseline,omitempty" doc:"the cell that others are compared with, by axis; the first one by default"`
	Again     *bool            `json:"again,omitempty" doc:"whether the baseline is run twice in each round, which shows the noise; true by default"`
	Check     *bool            `json:"check,omitempty" doc:"whether every run checks what it reduces while it measures; true by default"`
	Budget    Limits           `json:"budget,omitempty" doc:"what ends the sweep early"`
	// RunTimeout is a duration, e.g. 90s.
	RunTimeout string `json:"run_timeout,omitempty" doc:"the longest time that a run may take, as in 90s or 1h; a longer run is ended and counts as failed"`
	Metric     string `json:"metric,omitempty" doc:"what cells are compared by; throughput by default"`

	origin string // name of the specification in error messages
	axes   []axis // from flags: added to the file's axes, or replacing them
	alone  bool   // whether the specification may have no axis
}

// Limits is the budget in a specification.
type Limits struct {
	Time     string `json:"time,omitempty" doc:"the longest time that the runs of the sweep take together, as in 8h30m"`
	Failures int    `json:"failures,omitempty" jsonschema:"minimum=0" doc:"the number of failed runs after which the sweep ends"`
}

// ParseSpec parses a specification. name is its name in error messages.
func ParseSpec(name string, data []byte) (*Spec, error) {
	s := &Spec{origin: name}
	if err := jsonfile.Decode(name, data, s); err != nil {
		return nil, err
	}
	if !quote.Plain(s.Name) {
		return nil, fmt.Errorf("%s: name is %s, which cannot be printed: give one without control characters", name,
			quote.String(s.Name))
	}
	if _, err := s.allAxes(); err != nil {
		return nil, err
	}
	return s, s.limit(&Plan{})
}

// NewSpec returns an empty specification. Flags add axes to it.
func NewSpec() *Spec { return &Spec{origin: flagOrigin} }

// Alone returns a specification without axes: a single experiment and its A/A cell, with the given number of rounds.
func Alone(repeats int) *Spec { return &Spec{Repeats: repeats, origin: "the flags", alone: true} }

// flagOrigin is the name, in error messages, of a specification made from flags.
const flagOrigin = "--axis"

// AddAxis adds an axis from a flag, NAME=VALUE,VALUE... The axis replaces the file's axis of the same name.
func (s *Spec) AddAxis(text string) error {
	name, list, ok := strings.Cut(text, "=")
	if !ok || strings.TrimSpace(name) == "" || list == "" {
		return fmt.Errorf(
			"--axis is %s but must be NAME=VALUE,VALUE..., as in server=average,average_batch or ntrainer=1..8*2",
			quote.String(text))
	}
	a := axis{name: strings.TrimSpace(name), place: "--axis " + quote.Word(strings.TrimSpace(name))}
	if slices.ContainsFunc(s.axes, func(other axis) bool { return keyOf(other.name) == keyOf(a.name) }) {
		return fmt.Errorf("%s is given twice: write all of its values with one", a.place)
	}
	if err := a.known(); err != nil {
		return err
	}
	if numeral.Grouped(list) {
		return fmt.Errorf("%s is %s%s", a.place, quote.String(list), numeral.Why(numeral.ErrComma))
	}
	for _, item := range splitValues(list) {
		values, err := a.expand(option.Text(item))
		if err != nil {
			return err
		}
		a.values = append(a.values, values...)
	}
	if err := a.checkLabels(); err != nil {
		return err
	}
	s.axes = append(s.axes, a)
	return nil
}

// Text returns the specification as JSON for a file, including the axes from flags.
func (s *Spec) Text() ([]byte, error) {
	axes, err := s.allAxes()
	if err != nil {
		return nil, err
	}
	whole := *s
	whole.Axes = nil
	for _, a := range axes {
		var values []any
		for _, v := range a.values {
			values = append(values, v.written)
		}
		whole.Axes = append(whole.Axes, map[string]any{a.name: values})
	}
	return encode(whole)
}

// allAxes returns the axes of the file and of the flags. A flag's axis replaces the file's axis of the same name.
func (s *Spec) allAxes() ([]axis, error) {
	var axes []axis
	for i, given := range s.Axes {
		a, err := s.parseAxis(i, given)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(axes, func(other axis) bool { return keyOf(other.name) == keyOf(a.name) }) {
			return nil, fmt.Errorf("%s: axis %s is there twice", s.origin, quote.Word(a.name))
		}
		axes = append(axes, a)
	}
	for _, a := range s.axes {
		if i := slices.IndexFunc(axes, func(other axis) bool { return keyOf(other.name) == keyOf(a.name) }); i >= 0 {
			axes[i] = a
		} else {
			axes = append(axes, a)
		}
	}
	return axes, checkKeys(axes)
}

// parseAxis parses an axis of the file. An axis is an object with one key, the axis's name.
func (s *Spec) parseAxis(place int, given map[string]any) (axis, error) {
	var a axis
	if len(given) != 1 {
		return a, fmt.Errorf(
			`%s: axis %d has %d keys but must have one, its name, as in {"server": ["average", "sum"]}`, s.origin,
			place+1, len(given))
	}
	for name, raw := range given {
		a.name, a.place = name, fmt.Sprintf("axis %s in %s", quote.Word(name), s.origin)
		list, ok := raw.([]any)
		if !ok {
			list = []any{raw}
		}
		a.sets = keyOfGroups(list)
		for _, item := range list {
			values, err := a.expand(item)
			if err != nil {
				return a, err
			}
			a.values = append(a.values, values...)
		}
	}
	if !slices.ContainsFunc(a.values, func(v value) bool { return v.group }) {
		if err := a.known(); err != nil {
			return a, err
		}
	}
	return a, a.checkLabels()
}

// checkKeys returns an error if two axes set the same key.
func checkKeys(axes []axis) error {
	by := map[string]axis{}
	for _, a := range axes {
		for _, key := range a.keys() {
			if other, taken := by[key]; taken {
				return fmt.Errorf("%s sets %s, which %s sets too", a.place, quote.Word(key), other.place)
			}
			by[key] = a
		}
	}
	return nil
}

// limit copies the budget and the run timeout of the specification into the plan.
func (s *Spec) limit(p *Plan) error {
	if p.Budget.Failures = s.Budget.Failures; p.Budget.Failures < 0 {
		return fmt.Errorf("%s: budget.failures is %d but must be 0 or more", s.origin, p.Budget.Failures)
	}
	var err error
	if p.Budget.Time, err = timeOf(s.Budget.Time); err != nil {
		return fmt.Errorf("%s: budget.time %w", s.origin, err)
	}
	if p.RunTimeout, err = timeOf(s.RunTimeout); err != nil {
		return fmt.Errorf("%s: run_timeout %w", s.origin, err)
	}
	return nil
}

// IsTime reports whether a specification accepts text as a duration.
func IsTime(text string) bool {
	t, err := timeOf(text)
	return err == nil && t > 0
}

// timeOf parses a duration; "" is 0. The text of its error completes a sentence of the caller.
func timeOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	t, err := time.ParseDuration(text)
	if err != nil || t <= 0 {
		return 0, fmt.Errorf("is %s but must be a time above 0, as in 90s or 8h30m", quote.String(text))
	}
	return t, nil
}

// nearest returns a hint that names the known name closest to name.
func nearest(name string, known []string) string { return spelling.Hint(name, known, "", "") }

// label returns a value as text for people: strings unchanged, other values as JSON.
func label(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case option.Text:
		return string(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // values read from JSON encode as JSON
	}
	return string(text)
}
