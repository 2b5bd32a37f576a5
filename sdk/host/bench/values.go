package bench

import (
	"fmt"
	"math"

	"github.com/psbench/psbench/comm/tensor"
)

// The values of a fresh round are a hash of rank, index and round: whole numbers
// from -1024 to 1023, so that a float32 holds the sum over 16384 ranks exactly,
// whatever the order of the additions. Every process can compute what the others
// push, and so what must come out.

// benchKey is what the values of a rank in a round have in common.
func benchKey(rank int, round int64) uint64 {
	x := uint64(rank+1)*0xBF58476D1CE4E5B9 ^ uint64(round+1)*0x94D049BB133111EB // #nosec G115 -- bits to mix
	x = (x ^ x>>31) * 0x9E3779B97F4A7C15
	return x ^ x>>29
}

// benchStride is what lies between the hashes of neighbouring elements.
const benchStride = 0x9E3779B97F4A7C15

// benchValue is the element at place i*benchStride of the values with this key.
func benchValue(key, place uint64) int32 {
	return int32((place^key)*0xD6E8FEB86659FD93>>53) - 1024 // #nosec G115 -- 11 bits
}

// fillValues writes the values with this key from element first on.
func fillValues(values []float32, key uint64, first int) {
	place := uint64(first) * benchStride // #nosec G115 -- an index
	for i := range values {
		values[i] = float32(benchValue(key, place))
		place += benchStride
	}
}

// addValues is fillValues that adds.
func addValues(sums []int32, key uint64, first int) {
	place := uint64(first) * benchStride // #nosec G115 -- an index
	for i := range sums {
		sums[i] += benchValue(key, place)
		place += benchStride
	}
}

// rowChance is a density in the unit of hasRow.
func rowChance(density float64) uint64 { return uint64(density * (1 << 32)) }

// hasRow says whether the sparse gradient with this key has a row of the table.
func hasRow(key uint64, row int, chance uint64) bool {
	return (uint64(row)*0xD1342543DE82EF95^key)*0xAF251AF3B0F025B5>>32 < chance // #nosec G115 -- a row
}

// fillBench overwrites b's gradient by the values with this key: all of a dense
// one, the rows of a sparse one that hasRow chooses.
func fillBench(b *tensor.Bucket, key, chance uint64) error {
	g := &b.Gradient
	if !b.Sparse {
		fillValues(g.Values, key, 0)
		return nil
	}
	if err := g.SetRows(b.Capacity); err != nil {
		return err
	}
	n := 0
	for row := range b.TableRows {
		if !hasRow(key, row, chance) {
			continue
		}
		g.Rows[n] = int32(row) // #nosec G115 -- a row
		fillValues(g.Values[n*b.Width:][:b.Width], key, row*b.Width)
		n++
	}
	return g.SetRows(n)
}

// benchCheck compares a gradient with the sum, or the mean, of the values of
// some keys, element by element and bit by bit. It costs one hash per element
// and key.
type benchCheck struct {
	keys   []uint64
	chance uint64
	mean   bool
	sums   [512]int32 // of a run of elements
}

// find describes the first difference, or returns "" if there is none: what is
// wrong, and how it is wrong.
func (c *benchCheck) find(b *tensor.Bucket) (where, how string) {
	g := &b.Gradient
	if b.Sparse {
		return c.findSparse(b)
	}
	if len(g.Values) != b.Elements {
		return "the gradient", fmt.Sprintf("has %d elements instead of %d", len(g.Values), b.Elements)
	}
	return c.findIn(g.Values, 0, c.keys)
}

// findSparse expects exactly the rows that some key has.
func (c *benchCheck) findSparse(b *tensor.Bucket) (where, how string) {
	g := &b.Gradient
	having := make([]uint64, 0, len(c.keys))
	n := 0 // rows of g that are right
	for row := range b.TableRows {
		having = having[:0]
		for _, key := range c.keys {
			if hasRow(key, row, c.chance) {
				having = append(having, key)
			}
		}
		switch {
		case len(having) == 0:
			continue
		case n == len(g.Rows) || int(g.Rows[n]) > row:
			return fmt.Sprintf("row %d", row), "is missing"
		case int(g.Rows[n]) < row:
			return fmt.Sprintf("row %d", g.Rows[n]), "is there, which nobody has"
		}
		if where, how = c.findIn(g.Values[n*b.Width:][:b.Width], row*b.Width, having); where != "" {
			return where, how
		}
		n++
	}
	if n < len(g.Rows) {
		return fmt.Sprintf("row %d", g.Rows[n]), "is there, which nobody has"
	}
	return "", ""
}

// findIn compares values, the first of which is element first of the bucket,
// with the reduction over keys.
//
// It compares bits, for 0 and -0 differ. A mean may be divided or multiplied by
// the rounded reciprocal.
func (c *benchCheck) findIn(values []float32, first int, keys []uint64) (where, how string) {
	scale := float32(1)
	if c.mean {
		scale = 1 / float32(len(c.keys))
	}
	for len(values) > 0 {
		part := values[:min(len(values), len(c.sums))]
		sums := c.sums[:len(part)]
		clear(sums)
		for _, key := range keys {
			addValues(sums, key, first)
		}
		for i, got := range part {
			if math.Float32bits(got) != math.Float32bits(float32(sums[i])*scale) && !c.divided(got, sums[i]) {
				return fmt.Sprintf("element %d", first+i), fmt.Sprintf("is %v instead of %v", got, c.want(sums[i]))
			}
		}
		values, first = values[len(part):], first+len(part)
	}
	return "", ""
}

func (c *benchCheck) divided(got float32, sum int32) bool {
	return c.mean && math.Float32bits(got) == math.Float32bits(c.want(sum))
}

func (c *benchCheck) want(sum int32) float32 {
	if c.mean {
		return float32(sum) / float32(len(c.keys))
	}
	return float32(sum)
}
