package words

import (
	"fmt"
	"math"
	"strings"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/screen"
)

// lossText states the held-out loss of the leading cell, and names the cells that cannot win because of their loss.
func lossText(o *verdict.Contest) string {
	var parts []string
	if o.Best != nil {
		switch l, known := o.Losses[o.Best]; {
		case known && alone(o):
			parts = append(parts, "held-out loss "+screen.Number(l.Median))
		case known:
			parts = append(parts, o.Best.Name+": "+describeLoss(o, l))
		}
	}
	var faster []string
	for _, c := range o.Barred {
		if o.Best == nil || o.Metric.Beats(o.Level(c), o.Level(o.Best)) {
			faster = append(faster, fmt.Sprintf("%s (%s, held-out loss %s)", c.Name, quantity(o.Metric, o.Median(c)),
				lossDifference(o.Losses[c])))
		}
	}
	if len(faster) > 0 {
		parts = append(parts,
			fmt.Sprintf("better by %s but excluded for held-out loss: %s", worded(o.Metric), named(faster)))
	} else if n := len(o.Barred); n > 0 {
		parts = append(parts, are(n, "other cell")+" excluded for held-out loss")
	}
	if len(parts) == 0 && o.Study.OneRun() {
		return "not known: the run was not evaluated on held-out samples"
	}
	if len(parts) == 0 {
		return "not known: no run was evaluated on held-out samples"
	}
	return strings.Join(parts, "; ")
}

// describeLoss returns a loss and its comparison with the reference's loss.
func describeLoss(o *verdict.Contest, l verdict.Loss) string {
	text := "held-out loss " + screen.Number(l.Median)
	if !l.Compared {
		return text + ", which the others are compared with"
	}
	reference := "the baseline"
	if o.Reference != o.Study.Cells[o.Study.Baseline] {
		reference = o.Reference.Name
	}
	if math.IsNaN(l.Reference) {
		return fmt.Sprintf("%s, beside a loss of %s that is not finite", text, reference)
	}
	return fmt.Sprintf("%s, beside %s of %s (%s)", text, screen.Number(l.Reference), reference, lossDifference(l))
}

// lossDifference describes how a loss differs from the reference's loss, and how certain the difference is.
func lossDifference(l verdict.Loss) string {
	metric, _ := model.MetricOf(model.HeldOutLoss)
	change := changeText(metric, l.Change)
	switch {
	case math.IsNaN(l.Median) || math.IsNaN(l.Reference) || change == "-":
		return "not finite"
	case l.Change.Change == 0:
		return "the same"
	case l.IsRounding():
		return "the same but for rounding"
	}
	return fmt.Sprintf("%s, %s, floor %s", change, probability(l.Change.Adjusted), screen.Percent(l.Floor.Change))
}
