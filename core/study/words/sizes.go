package words

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/bytesize"
	"github.com/psbench/psbench/internal/screen"
)

// bySize returns a sentence for each operation. It states which way of doing the operation is best at which sizes, and
// how certain that is.
func bySize(s *model.Study, contests []*verdict.Contest) []Sentence {
	at := s.WithinAt()
	var order []string
	works := map[string][]*verdict.Contest{}
	for _, o := range contests {
		name := workBut(s, o.Cells[0], at)
		if works[name] == nil {
			order = append(order, name)
		}
		works[name] = append(works[name], o)
	}
	var out []Sentence
	for _, name := range order {
		text := acrossSizes(s, works[name])
		if name != "" {
			text = name + ": " + text
		}
		out = append(out, Sentence{Label: labelOf(contests[0].Metric), Text: text})
	}
	return out
}

// workBut names the work of a cell without its size.
func workBut(s *model.Study, c *model.Cell, at int) string {
	var parts []string
	for i, a := range s.Axes {
		if i != at && len(a.Values) > 1 && verdict.IsWork(a.Name) {
			parts = append(parts, c.Values[i])
		}
	}
	return strings.Join(parts, ", ")
}

// acrossSizes summarises the contests of one operation. There is one contest for each size.
func acrossSizes(s *model.Study, of []*verdict.Contest) string {
	of = slices.DeleteFunc(slices.Clone(of), func(o *verdict.Contest) bool { return o.Best == nil })
	if len(of) == 0 {
		return "nothing can win: so many runs of every cell failed"
	}
	slices.SortStableFunc(of, func(a, b *verdict.Contest) int { return cmp.Compare(sizeOf(s, a), sizeOf(s, b)) })
	contested := slices.DeleteFunc(slices.Clone(of), func(o *verdict.Contest) bool { return len(o.Rivals) == 0 })
	if len(contested) == 0 {
		first, last := of[0], of[len(of)-1]
		text := "it was measured in one way alone: " + value(first, first.Best) + atSize(s, first)
		if last != first {
			text += ", " + value(last, last.Best) + atSize(s, last)
		}
		return text
	}
	var leads []string
	for i := 0; i < len(contested); {
		first := contested[i]
		name := wayOf(s, first.Best)
		for i < len(contested) && wayOf(s, contested[i].Best) == name {
			i++
		}
		leads = append(leads, fmt.Sprintf("%s %s", name, span(s, first, contested[i-1])))
	}
	return fmt.Sprintf("%s, with %s; %s", listed(leads), margins(contested), proofs(contested))
}

// wayOf names the values that distinguish a cell from other cells of its work.
func wayOf(s *model.Study, c *model.Cell) string {
	var parts []string
	for i, a := range s.Axes {
		if len(a.Values) > 1 && !verdict.IsWork(a.Name) {
			parts = append(parts, placed(a.Name, c.Values[i]))
		}
	}
	return strings.Join(parts, ", ")
}

// span returns the range of sizes at which a cell leads.
func span(s *model.Study, from, to *verdict.Contest) string {
	if from == to {
		return "leads" + atSize(s, from)
	}
	return fmt.Sprintf("leads from %s to %s", bytesize.Format(sizeOf(s, from)), bytesize.Format(sizeOf(s, to)))
}

// margins returns the smallest and the largest lead of the best cell over the second one.
func margins(of []*verdict.Contest) string {
	var changes []judge.Change
	for _, o := range of {
		changes = append(changes, o.Rivals[0].Change)
	}
	slices.SortFunc(changes, func(a, b judge.Change) int { return cmp.Compare(math.Abs(a.Change), math.Abs(b.Change)) })
	m, least, most := of[0].Metric, changes[0], changes[len(changes)-1]
	switch {
	case len(changes) == 1:
		return moreText(m, most) + " than the second"
	case least.Difference == nil && most.Difference == nil:
		return fmt.Sprintf("%s to %s than the second", screen.Percent(math.Abs(least.Change)), moreText(m, most))
	}
	return fmt.Sprintf("%s to %s than the second", moreText(m, least), moreText(m, most))
}

// proofs states at how many sizes the best cell is proven, and why there is no proof at the others.
func proofs(of []*verdict.Contest) string {
	var open []*verdict.Contest
	for _, o := range of {
		if len(o.Open()) > 0 {
			open = append(open, o)
		}
	}
	switch {
	case len(open) == 0:
		return "proven at each size"
	case len(open) == len(of):
		return "proven at no size: " + toTell(open[0], open[0].Open()[0])
	}
	return fmt.Sprintf("proven at %d of %s, but not%s", len(of)-len(open), screen.Count(len(of), "size"),
		atSize(open[0].Study, open[0]))
}

// sizeOf returns the size of a contest in bytes, or 0 if the contest has no size.
func sizeOf(s *model.Study, o *verdict.Contest) int {
	size, _ := strconv.Atoi(o.Cells[0].Config["bytes"])
	return size
}

// atSize returns " at SIZE" for a contest, or "" if the contest has no size.
func atSize(s *model.Study, o *verdict.Contest) string {
	if size := sizeOf(s, o); size > 0 {
		return " at " + bytesize.Format(size)
	}
	return ""
}
