package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/internal/spelling"
)

// Comparison holds the changes of cells between two studies, or between the values of one axis.
type Comparison struct {
	Metric   model.Metric
	Old, New string // names of the two sides
	Rows     []CellChange
	// Mean is the relative change of the geometric mean of the medians. It is NaN if the medians have no ratio.
	Mean  float64
	Floor judge.Floor
	// Against describes where the floor comes from.
	Against string
	// Differences describes how environment and configuration differ between the two sides. Along an axis the
	// configurations differ on purpose, so only the environment counts.
	Differences []string
	Warnings    []string

	// Lost names the cells on the new side that have no row because all of their runs failed.
	Lost []string

	along bool
	Held  Yardstick
	of    *model.Study // the study whose own cells are compared with each other, or nil
}

// CellChange is the change of a cell that both sides have.
type CellChange struct {
	Name     string
	Old, New judge.Estimate
	judge.Change
	// Barred means that too many of the new runs failed, so the cell cannot count as better.
	Barred bool
}

// Apart is the noise floor between runs of different sessions. A text describes where the floor comes from.
type Apart struct {
	Floor   judge.Floor
	Against string
}

// Compare judges each pair of cells, one from either study, with the same configuration. Only keys that vary within a
// study count. A change must exceed the floor between sessions. Compare returns an error if the studies share no cell.
func Compare(old, fresh *model.Study, metric model.Metric, apart Apart) (*Comparison, error) {
	c := &Comparison{Metric: metric, Old: old.Name, New: fresh.Name, Floor: apart.Floor, Against: apart.Against}
	keys := union(varying(old), varying(fresh))
	before, err := byValues(old, keys)
	if err != nil {
		return nil, err
	}
	after, err := byValues(fresh, keys)
	if err != nil {
		return nil, err
	}
	var pairs []cells
	for _, cell := range old.Measured() {
		if to, ok := after[valuesOf(cell, keys)]; ok {
			pairs = append(pairs, cells{nameBy(cell, keys), cell, to})
		}
	}
	if len(pairs) == 0 {
		return nil, c.nothing(old, fresh, keys)
	}
	if n := len(before) + len(after) - 2*len(pairs); n > 0 {
		c.Warnings = append(c.Warnings, screen.Count(n, "cell")+" with runs on one side only left out")
	}
	for _, s := range []*model.Study{old, fresh} {
		if y := yardstickOf(s, metric); s.Again != nil && y.None == nil && y.Floor.Change > c.Floor.Change {
			c.Floor, c.Against = y.Floor, "the baseline and its A/A cell in "+s.Name
		}
	}
	c.Held = Yardstick{Metric: metric, Floor: c.Floor, Center: math.NaN()}
	c.note(old, fresh)
	c.lose(lost(fresh))
	return c, c.judge(pairs, MostFailed(old), MostFailed(fresh))
}

// Along judges the cells of a study that differ only in one axis. It compares each value of the axis with the first
// one. The cells were measured in one session, in random order. Along returns an error if the axis is unknown or if
// there is nothing to compare.
func Along(s *model.Study, axis string, metric model.Metric) (*Comparison, error) {
	at := slices.IndexFunc(s.Axes, func(a model.Axis) bool { return a.Name == axis })
	switch {
	case at < 0:
		return nil, fmt.Errorf("%s has no axis %s; %s: name two studies, or one of these with --axis", s.Name,
			quote.String(axis), spelling.Choices(axis, axisNames(s), "axes", ""))
	case len(s.Axes[at].Values) < 2:
		return nil, fmt.Errorf("axis %s of %s has one value, so there is nothing to compare", quote.String(axis),
			s.Name)
	}
	values := s.Axes[at].Values
	c := &Comparison{Metric: metric, Old: axis + "=" + values[0], New: axis + "=" + strings.Join(values[1:], ","),
		along: true, of: s}
	var pairs []cells
	for _, cell := range s.Measured() {
		if cell.Values[at] == values[0] {
			continue
		}
		for _, from := range s.Measured() {
			if from.Values[at] == values[0] && from.EqualBut(cell, at) {
				pairs = append(pairs, cells{cell.Name, from, cell})
			}
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("no cell of %s has runs with %s=%s and with another value: there is nothing to compare",
			s.Name, axis, values[0])
	}
	c.Held = yardstickOf(s, metric)
	c.Floor, c.Against = c.Held.Floor, "the baseline and its A/A cell"
	switch {
	case c.Held.Each:
		c.Against = ""
	case s.Again == nil:
		c.Against = "the runs of the baseline, without an A/A cell"
	}
	if c.Held.None != nil {
		c.Against = ""
		c.Warnings = append(c.Warnings, "nothing is proven: "+c.Held.None.Error())
	}
	c.note(s)
	c.lose(slices.DeleteFunc(lost(s), func(cell *model.Cell) bool { return cell.Values[at] == values[0] }))
	return c, c.judge(pairs, MostFailed(s), MostFailed(s))
}

// cells is a pair of cells to compare in one row.
type cells struct {
	name     string
	old, new *model.Cell
}

// judge compares all pairs together and sets the rows, the mean and the warnings.
func (c *Comparison) judge(all []cells, mostOld, mostNew float64) error {
	var pairs []judge.Pair
	var crashed []bool // by pair, whether too many runs of the old side failed
	var warned sides
	differ := differences{along: c.along}
	for _, p := range all {
		pair := judge.Pair{Old: c.runs(p.old), New: c.runs(p.new)}
		if len(pair.Old.Values) == 0 || len(pair.New.Values) == 0 {
			c.Warnings = append(c.Warnings,
				fmt.Sprintf("%s is left out: not both sides have runs with %s", p.name, c.Metric.Name))
			continue
		}
		warned.add(p.name, "old", pair.Old.Values)
		warned.add(p.name, "new", pair.New.Values)
		if text := p.otherData(c.Metric); text != "" {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %s", p.name, text))
		}
		pairs = append(pairs, pair)
		was, is := c.tally(p.old), c.tally(p.new)
		crashed = append(crashed, was.exceeds(mostOld))
		c.bar(p.name, "old", was, mostOld)
		c.bar(p.name, "new", is, mostNew)
		c.Rows = append(c.Rows, CellChange{Name: p.name, Old: judge.Of(pair.Old.Values), New: judge.Of(pair.New.Values),
			Barred: is.exceeds(mostNew)})
		differ.add(p.old, p.new)
	}
	if len(pairs) == 0 {
		return fmt.Errorf(
			"no cell has runs with %s on both sides, so there is nothing to compare: choose another --metric",
			c.Metric.Name)
	}
	c.Differences = differ.texts()
	logs := 0.0
	for i, change := range c.Held.compare(pairs) {
		c.Rows[i].Change = withhold(change, crashed[i], c.Rows[i].Barred)
		logs += math.Log(c.Rows[i].New.Median / c.Rows[i].Old.Median) // NaN if the medians have no ratio
	}
	c.Mean = math.Exp(logs/float64(len(pairs))) - 1
	c.Warnings = append(c.Warnings, warned.texts()...)
	c.fewRuns(pairs)
	return nil
}

// sides collects warnings about runs. For each warning it stores the cells and sides that have it.
type sides struct {
	said  []string
	names map[string][]string
}

func (s *sides) add(cell, side string, runs []float64) {
	for _, w := range judge.RunWarnings(runs) {
		if s.names == nil {
			s.names = map[string][]string{}
		}
		if s.names[w] == nil {
			s.said = append(s.said, w)
		}
		s.names[w] = append(s.names[w], cell+" ("+side+")")
	}
}

// texts returns one sentence for each warning, which names all sides with this warning.
func (s *sides) texts() []string {
	var out []string
	for _, w := range s.said {
		who := strings.Join(s.names[w], ", ")
		if n := len(s.names[w]); n > 3 {
			who = fmt.Sprintf("%s and %d more", s.names[w][0], n-1)
		}
		out = append(out, who+": "+w)
	}
	return out
}

// fewRuns warns of pairs with too few runs to prove anything among this many comparisons.
func (c *Comparison) fewRuns(pairs []judge.Pair) {
	unprovable, least := 0, 0
	for _, p := range pairs {
		if ok, fewest := p.Provable(len(pairs)); !ok {
			unprovable++
			least = max(least, fewest)
		}
	}
	if unprovable > 0 {
		c.Warnings = append(c.Warnings,
			fmt.Sprintf(
				"too few runs to prove anything in %d of %s: %d on each side are the least for so many comparisons",
				unprovable, screen.Count(len(pairs), "cell"), least))
	}
}

// runs returns the runs of a cell. They are in rounds only if the cells of a study in rounds are compared along an
// axis. Along an axis, the baseline includes the runs of its A/A cell.
func (c *Comparison) runs(cell *model.Cell) judge.Runs {
	if c.of != nil {
		return runsOf(c.of, cell, c.Metric.Name)
	}
	return judge.Apart(cell.Of(c.Metric.Name))
}

// InRounds reports whether cells are compared within rounds. This is the case along an axis of a study in rounds.
func (c *Comparison) InRounds() bool { return c.of != nil && c.of.InRounds }

// note adds the warnings of the studies themselves and the numbers of their failed runs.
func (c *Comparison) note(studies ...*model.Study) {
	for _, s := range studies {
		for _, w := range s.Warnings {
			if !slices.Contains(c.Warnings, w) {
				c.Warnings = append(c.Warnings, w)
			}
		}
		failed := 0
		for _, cell := range s.Cells {
			failed += len(cell.Failed)
		}
		if failed > 0 {
			c.Warnings = append(c.Warnings,
				fmt.Sprintf("%s of %s did not come to the end and count for nothing", screen.Count(failed, "run"),
					s.Name))
		}
	}
}

// nothing returns an error that explains why no cells can be compared.
func (c *Comparison) nothing(old, fresh *model.Study, keys []string) error {
	for _, s := range []*model.Study{old, fresh} {
		if len(s.Measured()) == 0 {
			for _, cell := range s.Cells {
				if len(cell.Failed) > 0 {
					return fmt.Errorf("%s has no complete run (%s), so there is nothing to compare", s.Name,
						cell.Failed[0].Reason)
				}
			}
			return fmt.Errorf("%s has no complete run, so there is nothing to compare", s.Name)
		}
	}
	return fmt.Errorf("%s and %s have no cell in common by %s, so there is nothing to compare", old.Name, fresh.Name,
		strings.Join(keys, ", "))
}

// Fails names the cells that are proven worse by more than share, and the undecided cells. A cell is undecided if its
// interval or floor exceeds share, if too many of its new runs failed, or if it is Lost.
func (c *Comparison) Fails(share float64) (proven, open []string) {
	for _, r := range c.Rows {
		worst := -r.Low
		if c.Metric.Better == model.Lower {
			worst = r.High
		}
		within := worst <= share && (r.Proven() || r.Floor <= share)
		switch {
		case r.Verdict == judge.Worse && math.Abs(r.Change.Change) > share:
			proven = append(proven, r.Name)
		case r.Barred || r.Verdict != judge.Better && !within:
			open = append(open, r.Name)
		}
	}
	return proven, append(open, c.Lost...)
}
