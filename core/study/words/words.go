package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/screen"
)

// signed returns a relative change as a percentage with its sign: −1.5 %. The minus is U+2212.
func signed(change float64) string {
	if math.IsNaN(change) {
		return "-"
	}
	sign, text := "+", screen.Percent(math.Abs(change))
	if change < 0 {
		sign = "−"
	}
	return sign + text
}

// worded returns the name of a metric in words, e.g. time per batch or held-out AUC.
func worded(m model.Metric) string { return inWords.Replace(m.Name) }

var inWords = strings.NewReplacer("held_out_", "held-out ", "auc", "AUC", "_", " ")

// placed returns a value on an axis in words, e.g. transport shm.
func placed(axis, value string) string { return axis + " " + value }

// quantity returns a value with its unit.
func quantity(m model.Metric, x float64) string {
	if m.Unit == "loss" || m.Unit == "share" {
		return screen.Number(x)
	}
	return screen.Number(x) + " " + m.Unit
}

// mostNamed is the largest number of cells that a sentence names.
const mostNamed = 3

// named lists names. If there are many, it lists the first mostNamed and counts the rest.
func named(names []string) string {
	if len(names) <= mostNamed {
		return listed(names)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), len(names)-mostNamed)
}

// listed returns "a", "a and b" or "a, b and c".
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// probability returns p in the form for a sentence.
func probability(p float64) string {
	if text := short(p); strings.HasPrefix(text, "<") {
		return "p " + text
	}
	return "p = " + short(p)
}

// short returns p in the form for a table.
func short(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}
