package bench

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
)

// Answer computes a server's answer in sum. Answer combines the gradients in
// others, which cover the same elements, with sum.
type Answer func(sum []float32, others [][]float32)

// answerSlack is the allowed relative error of an answer, as a share of the
// larger value. A server may combine gradients in any order, so rounding
// differs.
const answerSlack = 1e-5

// MismatchWith is Mismatch for a round whose result is answer applied to the
// gradients of some ranks. In a sparse bucket, answer combines each row over
// the ranks that have the row. MismatchWith costs one hash per element and
// rank, plus the answer.
func (v *Values) MismatchWith(answer Answer, b *tensor.Bucket, round int64, ranks []int) (where, how string) {
	v.keys = v.keys[:0]
	for _, rank := range ranks {
		v.keys = append(v.keys, keyOf(rank, round))
	}
	check := func(values []float32, first, _ int, keys []uint64) (where, how string) {
		return v.findAnswer(answer, values, first, keys)
	}
	switch g := &b.Gradient; {
	case b.Sparse:
		return v.findSparse(b, check)
	case len(g.Values) != b.Elements:
		return "the gradient", fmt.Sprintf("has %d elements instead of %d", len(g.Values), b.Elements)
	default:
		return check(g.Values, 0, 0, v.keys)
	}
}

// findAnswer compares values with the answer to the gradients that these keys
// generate. values[0] is element first of the bucket.
func (v *Values) findAnswer(answer Answer, values []float32, first int, keys []uint64) (where, how string) {
	for len(v.gradients) < len(keys) {
		v.gradients = append(v.gradients, make([]float32, len(v.sums)))
	}
	for len(values) > 0 {
		n := min(len(values), len(v.sums))
		v.others = v.others[:0]
		for i, key := range keys {
			fillValues(v.gradients[i][:n], key, first)
			v.others = append(v.others, v.gradients[i][:n])
		}
		answer(v.others[0], v.others[1:])
		for i, want := range v.others[0] {
			if got := values[i]; !near(got, want) {
				return fmt.Sprintf("element %d", first+i), fmt.Sprintf("is %v instead of %v", got, want)
			}
		}
		values, first = values[n:], first+n
	}
	return "", ""
}

// Difference compares the rows and values of a gradient with an expected
// answer. Difference allows for the slack of an answer. If the caller passes
// the input gradients in of, Difference also allows for a different rounding of
// their sum or mean. Difference describes the first difference as Mismatch
// does.
func Difference(got, want *tensor.Gradient, of ...*tensor.Gradient) (where, how string) {
	for i, row := range want.Rows {
		switch {
		case i == len(got.Rows) || got.Rows[i] > row:
			return fmt.Sprintf("row %d", row), "is missing"
		case got.Rows[i] < row:
			return fmt.Sprintf("row %d", got.Rows[i]), "is present but must not be"
		}
	}
	if n := len(want.Rows); n < len(got.Rows) {
		return fmt.Sprintf("row %d", got.Rows[n]), "is present but must not be"
	}
	if len(got.Values) != len(want.Values) {
		return "the gradient", fmt.Sprintf("has %d elements instead of %d", len(got.Values), len(want.Values))
	}
	for i, x := range want.Values {
		if !near(got.Values[i], x) && !rounded(got.Values[i], x, want, i, of) {
			at := i
			if want.Sparse() {
				at = int(want.Rows[i/want.Width])*want.Width + i%want.Width
			}
			return fmt.Sprintf("element %d", at), fmt.Sprintf("is %v instead of %v", got.Values[i], x)
		}
	}
	return "", ""
}

// leastNormal is the smallest float32 that is not denormal. Some processors
// treat smaller values as 0.
const leastNormal = 0x1p-126

// rounded reports whether got may stand for value i of want, which was computed
// from the gradients in of. Each addition or division rounds a number that is
// at most the sum of the magnitudes.
func rounded(got, x float32, want *tensor.Gradient, i int, of []*tensor.Gradient) bool {
	if len(of) == 0 {
		return false
	}
	magnitude := math.Abs(float64(x))
	for _, g := range of {
		at := i
		if want.Sparse() {
			row, has := slices.BinarySearch(g.Rows, want.Rows[i/want.Width])
			if !has {
				continue
			}
			at = row*want.Width + i%want.Width
		}
		if at < len(g.Values) {
			magnitude += math.Abs(float64(g.Values[at]))
		}
	}
	const ulp = 0x1p-23
	return math.Abs(float64(got)-float64(x)) <= float64(len(of)+1)*ulp*magnitude+leastNormal
}

func near(a, b float32) bool {
	if a == b || a != a && b != b { //nolint:gocritic // two that are no numbers are the same
		return true
	}
	x, y := float64(a), float64(b)
	return math.Abs(x-y) <= answerSlack*max(math.Abs(x), math.Abs(y))
}
