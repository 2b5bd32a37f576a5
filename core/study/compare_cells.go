package study

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// measured are the cells that have runs of their own.
func (s *Study) measured() []*Cell {
	var out []*Cell
	for _, c := range s.Cells {
		if c.Same == "" && len(c.Runs) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// byValues finds cells by their values of keys.
func (s *Study) byValues(keys []string) (map[string]*Cell, error) {
	out := map[string]*Cell{}
	for _, c := range s.measured() {
		at := valuesOf(c, keys)
		if out[at] != nil {
			return nil, fmt.Errorf("%s has several cells with the configuration of %s: compare them with each other, by --axis", s.Name, cmp.Or(c.Name, "its runs"))
		}
		out[at] = c
	}
	return out, nil
}

func (s *Study) axisNames() string {
	var names []string
	for _, a := range s.Axes {
		names = append(names, a.Name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// varying are the configuration keys that differ between the cells of a study.
func varying(s *Study) []string {
	seen := map[string]string{}
	differ := map[string]bool{}
	measured := s.measured()
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

func valuesOf(c *Cell, keys []string) string {
	var values []string
	for _, key := range keys {
		values = append(values, fmt.Sprintf("%q", c.Config[key]))
	}
	return strings.Join(values, " ")
}

// nameBy is the name that a cell has in its study, or else its values of keys.
func nameBy(c *Cell, keys []string) string {
	if c.Name != "" && (c.Name != allRuns || len(keys) == 0) {
		return c.Name
	}
	var parts []string
	for _, key := range keys {
		parts = append(parts, key+"="+c.Config[key])
	}
	return strings.Join(parts, " ")
}

func without(values []string, at int) []string {
	return slices.Concat(values[:at], values[at+1:])
}
