package bench

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/psbench/psbench/comm/tensor"
)

// Mismatch compares the parts of b's gradient with the expected result of a
// round, element by element and bit by bit. Mismatch describes the position and
// values of the first difference, or returns "" if there is none. Mismatch
// costs one hash per element and summand.
func (v *Values) Mismatch(b *tensor.Bucket, round int64, parts []Part) (where, how string) {
	g := &b.Gradient
	if !b.Sparse && len(g.Values) != b.Elements {
		return "the gradient", fmt.Sprintf("has %d elements instead of %d", len(g.Values), b.Elements)
	}
	for _, p := range parts {
		v.keys = v.keys[:0]
		for _, rank := range p.Ranks {
			v.keys = append(v.keys, keyOf(rank, round))
		}
		if b.Sparse {
			where, how = v.findSparse(b, v.find)
		} else {
			where, how = v.find(g.Values[p.From:p.To], p.From, p.Source, v.keys)
		}
		if where != "" {
			return where, how
		}
	}
	return "", ""
}

// findSparse expects exactly the rows that at least one key has. findSparse
// passes their values to check, which works as find does.
func (v *Values) findSparse(b *tensor.Bucket, check func(values []float32, first, source int,
	keys []uint64) (where, how string)) (where, how string) {
	g := &b.Gradient
	n := 0 // number of correct rows in g
	for row := range b.TableRows {
		v.having = v.having[:0]
		for _, key := range v.keys {
			if hasRow(key, row, v.chance) {
				v.having = append(v.having, key)
			}
		}
		switch {
		case len(v.having) == 0:
			continue
		case n == len(g.Rows) || int(g.Rows[n]) > row:
			return fmt.Sprintf("row %d", row), "is missing"
		case int(g.Rows[n]) < row:
			return fmt.Sprintf("row %d", g.Rows[n]), "is unexpected: no rank has it"
		}
		at := row * b.Width
		if where, how = check(g.Values[n*b.Width:][:b.Width], at, at, v.having); where != "" {
			return where, how
		}
		n++
	}
	if n < len(g.Rows) {
		return fmt.Sprintf("row %d", g.Rows[n]), "is unexpected: no rank has it"
	}
	return "", ""
}

// find compares values with the reduction over the values of these keys, from
// element source on. values[0] is element first of the bucket.
//
// find compares bits, because 0 and -0 differ. A mean may be computed by
// division, or by multiplication with the rounded reciprocal. If Rounded is
// set, a mean may also be a sum of divided values.
func (v *Values) find(values []float32, first, source int, keys []uint64) (where, how string) {
	scale := float32(1)
	if v.mean {
		scale = 1 / float32(len(v.keys))
	}
	for len(values) > 0 {
		part := values[:min(len(values), len(v.sums))]
		sums := v.sums[:len(part)]
		clear(sums)
		for _, key := range keys {
			addValues(sums, key, source)
		}
		for i, got := range part {
			if math.Float32bits(got) != math.Float32bits(float32(sums[i])*scale) && !v.divided(got, sums[i]) &&
				!v.rounded(got, sums[i], keys, source+i) {
				return fmt.Sprintf("element %d", first+i), fmt.Sprintf("is %v instead of %v", got, v.want(sums[i]))
			}
		}
		values, first, source = values[len(part):], first+len(part), source+len(part)
	}
	return "", ""
}

func (v *Values) divided(got float32, sum int32) bool {
	return v.mean && math.Float32bits(got) == math.Float32bits(v.want(sum))
}

// rounded reports whether got may be the sum of summands that were divided one
// by one, if Rounded allows that. Division by a power of two is exact, and so
// the sum is exact too.
func (v *Values) rounded(got float32, sum int32, keys []uint64, at int) bool {
	if !v.mean || !v.Rounded || bits.OnesCount(uint(len(keys))) == 1 {
		return false
	}
	magnitude := 0.0
	for _, key := range keys {
		magnitude += math.Abs(float64(valueOf(key, uint64(at)*stride))) // #nosec G115 -- an index
	}
	const ulp = 0x1p-23
	return math.Abs(float64(got)-float64(sum)/float64(len(keys))) <= ulp*magnitude
}

func (v *Values) want(sum int32) float32 {
	if v.mean {
		return float32(sum) / float32(len(v.keys))
	}
	return float32(sum)
}
