package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
)

// byValues indexes the measured cells by their values of keys. It returns an error if two cells have the same values.
func byValues(s *model.Study, keys []string) (map[string]*model.Cell, error) {
	out := map[string]*model.Cell{}
	for _, c := range s.Measured() {
		at := valuesOf(c, keys)
		if out[at] != nil {
			return nil, fmt.Errorf(
				"%s has several cells with the configuration of %s: compare them with each other, by --axis", s.Name,
				cmp.Or(c.Name, "its runs"))
		}
		out[at] = c
	}
	return out, nil
}

func axisNames(s *model.Study) []string {
	var names []string
	for _, a := range s.Axes {
		names = append(names, a.Name)
	}
	return names
}

// varying returns the configuration keys whose values differ between the cells of a study.
func varying(s *model.Study) []string {
	seen := map[string]string{}
	differ := map[string]bool{}
	measured := s.Measured()
	for _, c := range measured {
		for key := range c.Config {
			seen[key] = measured[0].Config[key]
		}
	}
	for _, c := range measured {
		for key, first := range seen {
			if c.Config[key] != first {
				differ[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(differ))
}

func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

func merged(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, b)
	return out
}

func valuesOf(c *model.Cell, keys []string) string {
	var values []string
	for _, key := range keys {
		values = append(values, fmt.Sprintf("%q", c.Config[key]))
	}
	return strings.Join(values, " ")
}

// nameBy returns the name of a cell in its study. If the study has only one cell, nameBy returns the values of keys
// instead.
func nameBy(c *model.Cell, keys []string) string {
	if c.Name != "" && (c.Name != model.OnlyCell || len(keys) == 0) {
		return c.Name
	}
	var parts []string
	for _, key := range keys {
		parts = append(parts, key+"="+c.Config[key])
	}
	return strings.Join(parts, " ")
}

// differences collects differences between the two sides beyond the compared settings.
type differences struct {
	along    bool // the comparison is along an axis, so configurations differ on purpose
	order    []string
	runs     map[string]int // number of pairs of runs with a difference, by its text
	of       int            // number of pairs of runs
	settings []string       // differences between configurations
}

// add records the differences between two cells. It compares every run with a run of the other side, because a machine
// may change between two runs. Differences that come and go are recorded only for the first pair. Along an axis they
// are ignored, because the cells take turns.
func (d *differences) add(old, fresh *model.Cell) {
	if d.runs == nil {
		d.runs = map[string]int{}
	}
	for i := range max(len(old.Runs), len(fresh.Runs)) {
		d.of++
		a, b := old.Runs[i%len(old.Runs)], fresh.Runs[i%len(fresh.Runs)]
		for _, e := range append(a.Differences(b), result.FactDifferences(a.Facts, b.Facts)...) {
			text := fmt.Sprintf("%s: %s → %s", e.Name, e.Old, e.New)
			switch {
			case d.along && (e.Old == "none" || e.New == "none"): // one of the cells does not have this part
			case !model.Passing(e.Name):
				if d.runs[text]++; d.runs[text] == 1 {
					d.order = append(d.order, text)
				}
			case !d.along && i == 0 && !slices.Contains(d.order, text):
				d.order = append(d.order, text)
			}
		}
	}
	if d.along {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(merged(old.Config, fresh.Config))) {
		text := fmt.Sprintf("%s: %s → %s", key, cmp.Or(old.Config[key], "none"), cmp.Or(fresh.Config[key], "none"))
		if old.Config[key] != fresh.Config[key] && !slices.Contains(d.settings, text) {
			d.settings = append(d.settings, text)
		}
	}
}

// texts returns one sentence for each difference. Differences of the environment come first.
func (d *differences) texts() []string {
	var out []string
	for _, text := range d.order {
		if n := d.runs[text]; n > 0 && n < d.of {
			text += fmt.Sprintf(" (in %d of %d pairs of runs)", n, d.of)
		}
		out = append(out, text)
	}
	return append(out, d.settings...)
}
