package words

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
)

// changesTexts returns a sentence for each axis whose best value is proven in at least one slice. The sentence names
// the best values along the other axes.
func changesTexts(s *model.Study, d *verdict.Duels) []string {
	var texts []string
	for axis, a := range s.Axes {
		if verdict.IsWork(a.Name) || len(a.Values) < 2 {
			continue
		}
		all := d.Won(axis)
		if len(all) < 2 {
			continue
		}
		var winners []string
		wins := map[string][]verdict.Slice{}
		unknown := 0
		for _, l := range all {
			if l.Winner == "" {
				unknown++
				continue
			}
			if wins[l.Winner] == nil {
				winners = append(winners, l.Winner)
			}
			wins[l.Winner] = append(wins[l.Winner], l)
		}
		if len(winners) == 0 {
			continue
		}
		var text string
		if len(winners) == 1 {
			text = fmt.Sprintf("the best %s is %s in %d of %d combinations of the other axes", a.Name, winners[0],
				len(wins[winners[0]]), len(all))
		} else {
			var parts []string
			for _, w := range winners {
				parts = append(parts, fmt.Sprintf("%s %s", w, where(s, axis, w, wins)))
			}
			text = fmt.Sprintf("the best %s changes: %s", a.Name, strings.Join(parts, "; "))
		}
		if unknown > 0 {
			text += fmt.Sprintf("; in %d it is not proven", unknown)
		}
		texts = append(texts, text)
	}
	return texts
}

// where describes the slices in which a value of an axis wins. If only this value wins at certain values of another
// axis, where names these values. Otherwise it names the slices.
func where(s *model.Study, axis int, winner string, wins map[string][]verdict.Slice) string {
	for other, a := range s.Axes {
		if other == axis || len(a.Values) < 2 {
			continue
		}
		own := valuesOn(other, wins[winner])
		overlap := false
		for w, list := range wins {
			overlap = overlap ||
				w != winner &&
					slices.ContainsFunc(valuesOn(other, list), func(v string) bool { return slices.Contains(own, v) })
		}
		if !overlap {
			return "where " + placed(a.Name, strings.Join(own, " or "))
		}
	}
	var names []string
	for _, l := range wins[winner] {
		var parts []string
		for i, a := range s.Axes {
			if i != axis && len(a.Values) > 1 {
				parts = append(parts, placed(a.Name, l.Values[i]))
			}
		}
		names = append(names, strings.Join(parts, " with "))
	}
	return "at " + named(names)
}

// valuesOn returns the distinct values that the slices have on an axis.
func valuesOn(axis int, list []verdict.Slice) (values []string) {
	for _, l := range list {
		if !slices.Contains(values, l.Values[axis]) {
			values = append(values, l.Values[axis])
		}
	}
	return values
}
