package words

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/screen"
)

// mostAmounts is the largest number of amounts that a sentence lists.
const mostAmounts = 4

// dataTexts describes how the training and evaluation data differs between a contest's cells.
func dataTexts(o *verdict.Contest) []string {
	if alone(o) {
		return nil
	}
	var out []string
	cells := slices.Concat(o.Cells, o.Bounds)
	work := ""
	if o.Name != "" {
		work = o.Name + ": "
	}
	if left := model.UnseenOf(cells, o.Metric); left != nil {
		out = append(out, work+leftOutText(cells, left))
	}
	if !model.Learnt(cells, o.Metric) {
		return out
	}
	if text := verdict.Amounts(cells, verdict.Trained); text != "" {
		out = append(out, work+"the cells trained on different amounts of data in all: "+text)
	}
	if text := verdict.Amounts(cells, func(r *model.Run) float64 { return float64(r.Seen.HeldOut) }); text != "" {
		out = append(out, work+"the cells were evaluated on different data: "+text)
	}
	return out
}

// leftOutText states how much data each cell left out. The largest share comes first.
func leftOutText(cells []*model.Cell, left map[*model.Cell]model.Unseen) string {
	names := map[string][]string{}
	shares := map[string]float64{}
	for _, c := range cells {
		u, runs := left[c]
		if !runs {
			continue
		}
		text := verdict.LeftOutText(u)
		names[text], shares[text] = append(names[text], c.Name), u.Share
	}
	order := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(shares[b], shares[a]), strings.Compare(a, b))
	})
	text := ""
	if len(order) > 1 {
		text = "the cells learn from different data: "
	}
	var parts []string
	for _, what := range order[:min(mostAmounts, len(order))] {
		parts = append(parts, fmt.Sprintf("%s left out %s", named(names[what]), what))
	}
	if n := len(order) - len(parts); n > 0 {
		last := order[len(order)-1]
		parts = append(parts,
			fmt.Sprintf("others down to %s at %s, which the table shows", screen.Percent(shares[last]),
				named(names[last])))
	}
	return text + strings.Join(parts, "; ")
}
