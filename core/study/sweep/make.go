package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// Many is the largest number of cells that needs no consent from the user.
const Many = 10_000

// Most is the largest number of cells of a sweep, including cells that rules leave out. A plan is one file of at most
// jsonfile.MaxMiB. With this many cells, 3 KiB remain for each cell, which is more than a cell needs.
const Most = 20_000

// Maker turns specifications into plans.
type Maker struct {
	// Sources are the configuration layers that all cells share. The specification's base lies below the environment.
	// The values of a cell lie above all layers.
	Sources config.Sources
	// Registry returns the registry that a configuration selects.
	Registry func(*config.Config) (*registry.Registry, error)
	// Catalogue returns the parts of a plugin. Maker calls it once for each plugin.
	Catalogue config.Catalogue
	// Program is the psbench that runs cells without a build.
	Program string
	// Effective returns the configuration that another psbench computes from values. Its error contains the other
	// psbench's message.
	Effective func(ctx context.Context, program string, values map[string]any) (map[string]any, error)
	// Try starts an experiment and ends it before the first pass. If Try is nil, Make starts no experiments.
	Try func(ctx context.Context, exp *config.Experiment) error
	// Across means that runs span several hosts. psbench then has a different default transport.
	Across bool
	// Yes means that the user has agreed to more than Many cells.
	Yes bool
}

// ManyError reports a sweep of more than Many cells, which needs the user's consent.
type ManyError struct{ Cells int }

func (e *ManyError) Error() string {
	return fmt.Sprintf("the axes have %d cells, more than %d", e.Cells, Many)
}

// Make checks the cells of a specification and returns their plan. If the user must first agree to the number of cells,
// it returns a *ManyError.
func (m *Maker) Make(ctx context.Context, s *Spec) (*Plan, error) {
	b, err := m.begin(s)
	if err != nil {
		return nil, err
	}
	if err := b.eachCell(ctx); err != nil {
		return nil, err
	}
	if err := b.checkSkipped(); err != nil {
		return nil, err
	}
	if b.plan.Baseline, err = b.baseline(); err != nil {
		return nil, err
	}
	b.plan.Identify()
	b.findSame()
	b.moveBaseline()
	b.plan.Identify() // findSame removed the runs of some cells, which changes their IDs
	b.plan.Warnings = b.warnings()
	return b.plan, b.plan.check()
}

// maker holds the state of one call of Make.
type maker struct {
	*Maker
	spec             *Spec
	axes             []axis
	include, exclude []rule
	plan             *Plan
	builds           *builds
	registries       map[string]*registry.Registry
	catalogues       map[string]said
	unknown          map[int]error    // by cell: error about a setting that its part does not have
	used             map[string]bool  // axis settings that some part has
	refused          map[int]error    // by cell: error of a part that refuses its settings
	made             map[string]error // errors of building parts, by part, settings and environment
	tried            map[string]bool  // questions that a trial has answered without an error
	failed           map[string]error // errors of trials, by questions and world
	recorder         *sdk.Recorder    // for parts that are built only for a check
	experiments      []string         // by cell: hash of all values that affect its runs
	notes            map[string]int   // number of cells for each warning
}

func (m *Maker) begin(s *Spec) (*maker, error) {
	axes, err := s.allAxes()
	if err != nil {
		return nil, err
	}
	if len(axes) == 0 && !s.alone {
		return nil, fmt.Errorf("%s: a sweep needs an axis at least, as in --axis server=average,average_batch",
			s.origin)
	}
	cells := 1
	for _, a := range axes {
		if cells *= len(a.values); cells > Most {
			return nil, fmt.Errorf(
				"the axes have more than %d cells, which is the most that a sweep can have: divide it into several",
				Most)
		}
	}
	if cells > Many && !m.Yes {
		return nil, &ManyError{cells}
	}
	b := &maker{
		Maker: m, spec: s, axes: axes,
		registries: map[string]*registry.Registry{}, catalogues: map[string]said{},
		unknown: map[int]error{}, used: map[string]bool{}, refused: map[int]error{}, made: map[string]error{},
		tried: map[string]bool{}, failed: map[string]error{}, recorder: new(sdk.Recorder), notes: map[string]int{},
	}
	if b.include, err = s.rulesOf("include", axes, s.Include); err != nil {
		return nil, err
	}
	if b.exclude, err = s.rulesOf("exclude", axes, s.Exclude); err != nil {
		return nil, err
	}
	if err := b.checkBase(); err != nil {
		return nil, err
	}
	if b.builds, err = newBuilds(m.Program); err != nil {
		return nil, err
	}
	b.plan, err = s.outline(axes)
	return b, err
}

// outline returns the plan without its cells.
func (s *Spec) outline(axes []axis) (*Plan, error) {
	p := &Plan{
		Name: s.Name, Repeats: s.Repeats, Seed: s.Seed, Metric: s.Metric,
		Again: s.Again == nil || *s.Again, Check: s.Check == nil || *s.Check,
	}
	if p.Repeats == 0 {
		p.Repeats = DefaultRepeats
	}
	if p.Repeats < 0 || p.Repeats > MostRepeats {
		return nil, fmt.Errorf("%s: repeats is %d but must be from 1 to %d", s.origin, p.Repeats, MostRepeats)
	}
	for _, a := range axes {
		p.Axes = append(p.Axes, Axis{a.name, a.labels()})
	}
	return p, s.limit(p)
}

// eachCell adds every combination of axis values to the plan as a cell. The last axis changes fastest.
func (b *maker) eachCell(ctx context.Context) error {
	places := make([]int, len(b.axes))
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := b.cell(ctx, places)
		if err != nil {
			return err
		}
		b.plan.Cells = append(b.plan.Cells, c)
		i := len(places) - 1
		for ; i >= 0; i-- {
			if places[i]++; places[i] < len(b.axes[i].values) {
				break
			}
			places[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// cell makes the cell at the given place on each axis. A cell that a rule forbids becomes a skipped cell.
func (b *maker) cell(ctx context.Context, places []int) (Cell, error) {
	var c Cell
	var words []string
	for i, a := range b.axes {
		v := a.values[places[i]]
		c.Values = append(c.Values, v.label)
		words = append(words, a.name+"="+v.label)
	}
	c.Name = cmp.Or(strings.Join(words, " "), "the experiment")
	b.experiments = append(b.experiments, "")
	if c.Skipped = unwanted(c.Values, b.include, b.exclude); c.Skipped != "" {
		return c, nil
	}
	err := b.resolve(ctx, places, &c)
	var forbidden *config.RuleError
	var unknown *config.UnknownSettingError
	var refused *RefusedError
	switch {
	case errors.As(err, &forbidden):
		c.Skipped = forbidden.Error()
	case errors.As(err, &unknown):
		c.Skipped, b.unknown[len(b.plan.Cells)] = unknown.Error(), err
	case errors.As(err, &refused):
		c.Skipped, b.refused[len(b.plan.Cells)] = refused.Error(), err
	case err != nil:
		return c, fmt.Errorf("cell %s: %w", c.Name, err)
	}
	if c.Skipped != "" {
		c.Config, c.Parts, c.Plugins, c.Binary = nil, nil, nil, ""
	}
	return c, nil
}

// checkSkipped returns an error if no part in any cell has one of the settings, if the parts of all cells refuse a
// value, or if no cell is left to run.
func (b *maker) checkSkipped() error {
	for _, i := range slices.Sorted(maps.Keys(b.unknown)) {
		if b.unused(i) {
			return fmt.Errorf("cell %s: %w", b.plan.Cells[i].Name, b.unknown[i])
		}
	}
	used := b.plan.usedValues()
	for _, i := range slices.Sorted(maps.Keys(b.refused)) {
		if c := b.plan.Cells[i]; hopeless(c, used) {
			return fmt.Errorf("cell %s: %w", c.Name, b.refused[i])
		}
	}
	if len(b.plan.Running()) > 0 {
		return nil
	}
	first := b.plan.Cells[0]
	return fmt.Errorf("no cell is left to run: all %d are skipped, the first, %s, since %s", len(b.plan.Cells),
		first.Name, first.Skipped)
}

// baseline returns the index of the first cell that fits the specification's baseline and is not skipped. If the
// specification has no baseline, it returns the first running cell.
func (b *maker) baseline() (int, error) {
	if len(b.spec.Baseline) == 0 {
		return b.plan.Running()[0], nil
	}
	r, err := parseRule(b.spec.origin+": baseline", b.axes, b.spec.Baseline)
	if err != nil {
		return 0, err
	}
	for i, c := range b.plan.Cells {
		if r.fits(c.Values) && c.Skipped == "" {
			return i, nil
		}
	}
	for _, c := range b.plan.Cells {
		if r.fits(c.Values) {
			return 0, fmt.Errorf("%s: baseline %s is skipped: %s", b.spec.origin, r.written, c.Skipped)
		}
	}
	return 0, fmt.Errorf("%s: baseline %s is no cell", b.spec.origin, r.written)
}

// findSame finds cells with equal experiments. It sets Same in all of them except the first.
func (b *maker) findSame() {
	first := map[string]int{}
	for i, hash := range b.experiments {
		c := &b.plan.Cells[i]
		if c.Skipped != "" {
			continue
		}
		if j, there := first[hash]; there {
			c.Same = b.plan.Cells[j].ID
		} else {
			first[hash] = i
		}
	}
}

// moveBaseline handles a baseline that repeats an earlier cell: the earlier cell becomes the baseline.
func (b *maker) moveBaseline() {
	if c := b.plan.Cells[b.plan.Baseline]; c.Same != "" {
		b.plan.Baseline = b.plan.Cell(c.Same)
	}
}

// warnings returns each distinct warning with the number of cells that have it.
func (b *maker) warnings() []string {
	var out []string
	for _, text := range slices.Sorted(maps.Keys(b.notes)) {
		out = append(out, fmt.Sprintf("%s (in %d of %d cells)", text, b.notes[text], len(b.plan.Cells)))
	}
	return out
}
