package sketch

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/guptarohit/asciigraph"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/bytesize"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
)

// A picture has at most mostLines curves and at most rows lines.
const (
	mostLines = 6
	rows      = 12
)

// Scaling draws the medians of cells over a numeric axis, one curve for each combination of the other axes. It uses
// the first axis with three or more numbers. A study without such an axis gets no picture.
func Scaling(w io.Writer, st *model.Study, metric model.Metric, s Style) error {
	columns, ok := s.columns()
	axis := numeric(st)
	if !ok || axis < 0 {
		return nil
	}
	lines, missing := curves(st, axis, metric.Name)
	if len(lines) == 0 {
		return nil
	}
	var text strings.Builder
	title := fmt.Sprintf("median %s in %s, over %s", metric.Name, metric.Unit, st.Axes[axis].Name)
	fmt.Fprintf(&text, "%s\n%s\n", s.plain(cut(title, columns)), s.plot(lines, st.Axes[axis].Values, columns))
	for i, l := range lines {
		if len(lines) == 1 && l.name == "" {
			break
		}
		mark, reset := letter(i), ""
		if s.Colour {
			mark, reset = colours[i].String()+"─", asciigraph.Default.String()
		}
		fmt.Fprintf(&text, "  %s%s %s\n", s.plain(mark), reset, s.plain(cut(l.name, columns-4)))
	}
	if missing > 0 {
		fmt.Fprintf(&text, "  %s\n", cut(fmt.Sprintf("%d more curves are not drawn", missing), columns-2))
	}
	_, err := io.WriteString(w, text.String()+"\n")
	return err
}

var colours = [mostLines]asciigraph.AnsiColor{asciigraph.Blue, asciigraph.Red, asciigraph.Green, asciigraph.Magenta,
	asciigraph.Yellow, asciigraph.Cyan}

// letter returns the mark of a curve on a screen without colours.
func letter(i int) string { return "abcdef"[i : i+1] }

// numeric returns the index of the first axis with at least three values, all of them numbers, or -1 if there is
// none.
func numeric(st *model.Study) int {
	return slices.IndexFunc(st.Axes, func(a model.Axis) bool {
		_, ok := numbers(a.Values)
		return ok && len(a.Values) >= 3
	})
}

// numbers parses values as numbers, or sizes as bytes. It returns false if a value is neither.
func numbers(values []string) ([]float64, bool) {
	list := make([]float64, len(values))
	for i, v := range values {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil {
			bytes, serr := bytesize.Parse(v)
			if x = float64(bytes); serr != nil {
				return nil, false
			}
		}
		if !numeral.Finite(x) {
			return nil, false
		}
		list[i] = x
	}
	return list, true
}

// curve holds the medians of cells that differ in one axis only. A missing median is NaN.
type curve struct {
	name   string
	values []float64 // by index on the axis
}

// curves returns the curves of a study in the order of its cells, and how many curves it left out. It skips curves
// with a single value.
func curves(st *model.Study, axis int, metric string) (lines []curve, missing int) {
	places := map[string]int{}
	for _, c := range st.Cells {
		var others []string
		for i, a := range st.Axes {
			if i != axis && i < len(c.Values) && len(a.Values) > 1 {
				others = append(others, a.Name+"="+c.Values[i])
			}
		}
		name := strings.Join(others, " ")
		place, ok := places[name]
		if !ok {
			place = len(lines)
			places[name] = place
			l := curve{name, make([]float64, len(st.Axes[axis].Values))}
			for i := range l.values {
				l.values[i] = math.NaN()
			}
			lines = append(lines, l)
		}
		if axis < len(c.Values) {
			if i := slices.Index(st.Axes[axis].Values, c.Values[axis]); i >= 0 {
				lines[place].values[i] = medianOf(st, c, metric)
			}
		}
	}
	order, _ := numbers(st.Axes[axis].Values)
	lines = slices.DeleteFunc(lines, func(l curve) bool {
		known := 0
		for _, v := range l.values {
			if !math.IsNaN(v) {
				known++
			}
		}
		return known < 2
	})
	for i := range lines {
		lines[i].values = inOrder(lines[i].values, order)
	}
	missing = max(0, len(lines)-mostLines)
	return lines[:len(lines)-missing], missing
}

// inOrder sorts values in ascending order of the numbers in by.
func inOrder[T any](values []T, by []float64) []T {
	places := make([]int, len(values))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(by[a], by[b]) })
	sorted := make([]T, len(values))
	for i, p := range places {
		sorted[i] = values[p]
	}
	return sorted
}

// medianOf returns the median of a cell's runs, or NaN if no run has the metric.
func medianOf(st *model.Study, c *model.Cell, metric string) float64 {
	if c.Same != "" {
		if i := slices.IndexFunc(st.Cells, func(o *model.Cell) bool { return o.ID == c.Same }); i >= 0 {
			c = st.Cells[i]
		}
	}
	var values []float64
	for _, r := range c.Runs {
		if v, ok := r.Values[metric]; ok && numeral.Finite(v) {
			values = append(values, v)
		}
	}
	return numeral.Median(values)
}

// plot draws curves over equally spaced axis values. The vertical scale has round steps and starts at 0.
func (s Style) plot(lines []curve, axis []string, columns int) string {
	by, _ := numbers(axis)
	labels := inOrder(axis, by)
	low, high := 0.0, 0.0
	data := make([][]float64, len(lines))
	chars, marks := make([]asciigraph.CharSet, len(lines)), make([]asciigraph.AnsiColor, len(lines))
	for i, l := range lines {
		data[i] = l.values
		if marks[i] = asciigraph.Default; s.Colour {
			marks[i] = colours[i]
		}
		if chars[i] = asciigraph.DefaultCharSet; !s.Colour && len(lines) > 1 {
			chars[i] = asciigraph.CreateCharSet(letter(i))
		}
		for _, v := range l.values {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	scale := scaleOf(low, high, rows)
	label := 0
	for _, i := range []int{scale.first, scale.last - 1, scale.last} {
		label = max(label, utf8.RuneCountInString(scale.text(scale.at(i))))
	}
	for i := range labels {
		labels[i] = quote.Text(labels[i])
	}
	width := columns - label - 6
	plot := asciigraph.PlotMany(data,
		asciigraph.Width(width-len(labels[len(labels)-1])/2), asciigraph.Height(scale.last-scale.first),
		asciigraph.LowerBound(scale.at(scale.first)), asciigraph.UpperBound(scale.at(scale.last)),
		asciigraph.YAxisValueFormatter(scale.text), asciigraph.SeriesChars(chars...), asciigraph.SeriesColors(marks...),
		asciigraph.XAxisRange(0, float64(len(labels)-1)), asciigraph.XAxisTickCount(len(labels)),
		asciigraph.XAxisValueFormatter(func(x float64) string {
			return labels[min(len(labels)-1, max(0, int(math.Round(x))))]
		}),
	)
	return s.plain(plot)
}
