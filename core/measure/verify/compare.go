package verify

import (
	"fmt"
	"math"

	"github.com/psbench/psbench/core/record/result"
)

// Outcome is the result of comparing a run with its case.
type Outcome struct {
	// The largest deviations, in the units of Tolerance.
	LossRel, DeltaHeadAbs, DeltaSumSqRel float64
	// Failures holds the values out of tolerance. It is empty if the run agrees.
	Failures []Failure
}

// Failure is a value out of tolerance.
type Failure struct {
	Process string // trainer0, server2
	Tensor  string // empty for a loss
	Text    string // one sentence with the value, the deviation and the tolerance
}

// String names the process, the tensor and the deviation.
func (f Failure) String() string {
	if f.Tensor == "" {
		return f.Process + ": " + f.Text
	}
	return f.Process + ", " + f.Tensor + ": " + f.Text
}

// Sum returns the allowed deviation of the sum of a tensor's deltas. The file has no tolerance for this sum. Rounding
// errors of n elements, each within delta_head_abs, add up like a random walk to delta_head_abs * sqrt(n).
func (t Tolerance) Sum(elements int) float64 {
	return t.DeltaHeadAbs * math.Sqrt(float64(elements))
}

// Compare compares a run's result with the case.
func Compare(c Case, r *result.Result) Outcome {
	o, h := &Outcome{}, c.Head()
	for _, e := range c.Expected() {
		at := place{o, h.rankName(e.Rank), "", h.Tolerance}
		if e.Params != nil {
			at.parameters(h.parameters(r, e.Rank), e.Params)
		}
		if e.Losses != nil {
			at.losses(element(r.Losses, e.Rank), e.Losses)
		}
	}
	return *o
}

func (h *Header) rankName(rank int) string {
	if rank < h.NTrainer {
		return fmt.Sprintf("trainer%d", rank)
	}
	return fmt.Sprintf("server%d", rank)
}

// parameters returns the parameters of a rank in the run.
func (h *Header) parameters(r *result.Result, rank int) []result.ParameterSummary {
	if rank < h.NTrainer {
		return element(r.Parameters, rank)
	}
	return element(r.ServerParameters, rank-h.NTrainer)
}

// element returns list i, or nil if there is none.
func element[E any](lists [][]E, i int) []E {
	if i >= len(lists) {
		return nil
	}
	return lists[i]
}

// place says which process and tensor the compared values belong to.
type place struct {
	*Outcome
	process, tensor string
	tolerance       Tolerance
}

func (p place) fail(format string, args ...any) {
	p.Failures = append(p.Failures, Failure{p.process, p.tensor, fmt.Sprintf(format, args...)})
}

func (p place) losses(got, want []float64) {
	if len(got) != len(want) {
		p.fail("it ran %d iterations but must run %d", len(got), len(want))
		return
	}
	for i := range want {
		p.relative(&p.LossRel, got[i], want[i], p.tolerance.LossRel, "the loss of iteration %d", i)
	}
}

func (p place) parameters(got []result.ParameterSummary, want []Parameter) {
	if len(got) != len(want) {
		p.fail("it has %d parameters but must have %d", len(got), len(want))
		return
	}
	for k, w := range want {
		g, tol := got[k], p.tolerance
		p.tensor = g.Name
		p.relative(&p.DeltaSumSqRel, g.DeltaSumSq, w.DeltaSumSq, tol.DeltaSumSqRel, "delta_sumsq")
		p.absolute(nil, g.DeltaSum, w.DeltaSum, tol.Sum(g.Elements), "delta_sum")
		p.heads("delta_head", g.DeltaHead, w.DeltaHead, tol.DeltaHeadAbs)
		p.heads("head", g.Head, w.Head, tol.DeltaHeadAbs)
	}
}

func (p place) heads(field string, got, want []float64, tolerance float64) {
	if len(got) != len(want) {
		p.fail("%s has %d elements but must have %d", field, len(got), len(want))
		return
	}
	for i := range want {
		p.absolute(&p.DeltaHeadAbs, got[i], want[i], tolerance, "%s[%d]", field, i)
	}
}

// relative and absolute compare one value each and keep the largest deviation. A value that is not a number exceeds
// every tolerance.
func (p place) relative(largest *float64, got, want, tolerance float64, format string, args ...any) {
	deviation := math.Abs(got-want) / math.Abs(want)
	if got == want {
		deviation = 0
	}
	p.judge(largest, deviation, got, want, tolerance, "relatively", format, args...)
}

func (p place) absolute(largest *float64, got, want, tolerance float64, format string, args ...any) {
	p.judge(largest, math.Abs(got-want), got, want, tolerance, "absolutely", format, args...)
}

func (p place) judge(largest *float64, deviation, got, want, tolerance float64, how, format string, args ...any) {
	if largest != nil {
		*largest = max(*largest, deviation)
	}
	if !(deviation <= tolerance) {
		p.fail("%s is %.9g but must be %.9g, off by %.3g %s where %.3g is allowed",
			fmt.Sprintf(format, args...), got, want, deviation, how, tolerance)
	}
}
