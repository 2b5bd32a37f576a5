package words

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
)

// reachText states how large the effect of an axis is, and between which of its values.
func reachText(e verdict.Effect, axis string) string {
	if _, ok := judge.Relative(1, 1+e.Change); !ok {
		return fmt.Sprintf("least at %s, most at %s", placed(axis, e.Low), e.High)
	}
	return fmt.Sprintf("%s from %s to %s", signed(e.Change), placed(axis, e.Low), e.High)
}

// matters states which axis matters most. proven reports whether this is proven. matters returns "" if there are no
// axes.
func matters(s *model.Study, m model.Metric, d *verdict.Duels) (text string, proven bool) {
	all := verdict.EffectsOf(s, m)
	if len(all.Axes) == 0 {
		return "", false
	}
	differ := d.Differing()
	at := slices.IndexFunc(all.Axes, func(e verdict.Effect) bool { return differ[e.Axis] })
	if at < 0 {
		return "which axis matters is not proven: no two cells that differ in only one axis are proven to differ", false
	}
	parts := []float64{all.Combined}
	for _, e := range all.Axes {
		parts = append(parts, e.Share)
	}
	whole := percents(parts)
	combined, shares := whole[0], whole[1:]

	first := all.Axes[at]
	combinedMost := all.Combined > max(first.Share, all.Axes[0].Share, 2*all.Noise)
	crossed := combinedMost && d.Crossing()
	if crossed {
		text =
			fmt.Sprintf("the combination of axes matters most for %s: it explains %d %% of the variance between the cells, because the effect of an axis depends on the others",
				worded(m), combined)
	} else {
		name, most := s.Axes[first.Axis].Name, "matters most"
		if at > 0 || combinedMost {
			most = "is proven to matter most"
		}
		text = fmt.Sprintf("%s %s for %s: %d %% of the variance between the cells, %s",
			name, most, worded(m), shares[at], reachText(first, name))
	}
	var rest []string
	for i, e := range all.Axes {
		if i == at && !crossed {
			continue
		}
		other := fmt.Sprintf("%s %d %%", s.Axes[e.Axis].Name, shares[i])
		if !differ[e.Axis] {
			other += " (not proven)"
		}
		rest = append(rest, other)
	}
	if !crossed && combined > 0 {
		rest = append(rest, fmt.Sprintf("how they are combined, and noise, %d %%", combined))
	}
	if len(rest) > 0 {
		text += "; " + strings.Join(rest, ", ")
	}
	return text, true
}
