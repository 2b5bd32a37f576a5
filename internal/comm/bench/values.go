package bench

import "github.com/psbench/psbench/comm/tensor"

// The values of a fresh round are a hash of rank, index and round: whole numbers
// from -1024 to 1023, so that a float32 holds the sum over 16384 ranks exactly,
// whatever the order of the additions. Every process can compute what the others
// push, and so what must come out.

// keyOf is what the values of a rank in a round have in common.
func keyOf(rank int, round int64) uint64 {
	x := uint64(rank+1)*0xBF58476D1CE4E5B9 ^ uint64(round+1)*0x94D049BB133111EB // #nosec G115 -- bits to mix
	x = (x ^ x>>31) * 0x9E3779B97F4A7C15
	return x ^ x>>29
}

// stride is what lies between the hashes of neighbouring elements.
const stride = 0x9E3779B97F4A7C15

// valueOf is the element at place i*stride of the values with this key.
func valueOf(key, place uint64) int32 {
	return int32((place^key)*0xD6E8FEB86659FD93>>53) - 1024 // #nosec G115 -- 11 bits
}

// fillValues writes the values with this key from element first on.
func fillValues(values []float32, key uint64, first int) {
	place := uint64(first) * stride // #nosec G115 -- an index
	for i := range values {
		values[i] = float32(valueOf(key, place))
		place += stride
	}
}

// addValues is fillValues that adds.
func addValues(sums []int32, key uint64, first int) {
	place := uint64(first) * stride // #nosec G115 -- an index
	for i := range sums {
		sums[i] += valueOf(key, place)
		place += stride
	}
}

// rowChance is a density in the unit of hasRow.
func rowChance(density float64) uint64 { return uint64(density * (1 << 32)) }

// hasRow says whether the sparse gradient with this key has a row of the table.
func hasRow(key uint64, row int, chance uint64) bool {
	return (uint64(row)*0xD1342543DE82EF95^key)*0xAF251AF3B0F025B5>>32 < chance // #nosec G115 -- a row
}

// Values makes the values of fresh rounds, and checks what comes out of them.
type Values struct {
	// Rounded says that a mean may be off as the sum of summands that were divided one by one, each of
	// which rounds.
	Rounded bool

	chance       uint64
	shift        int // by which values are smaller, so that sums are exact
	mean         bool
	keys, having []uint64
	sums         [512]int32  // of a run of elements
	gradients    [][]float32 // of the same, of each rank; only where an answer is asked for
	others       [][]float32
}

// NewValues is for ranks that each push the share density of a table's rows; with mean set
// a sum must come out divided by the count of its summands.
func NewValues(density float64, mean bool) *Values {
	return &Values{chance: rowChance(density), mean: mean}
}

// Fill overwrites b's gradient by the values of a rank in a round: all of a dense one, the
// rows of a sparse one that hasRow chooses.
func (v *Values) Fill(b *tensor.Bucket, rank int, round int64) error {
	g, key := &b.Gradient, keyOf(rank, round)
	switch {
	case !b.Type.Is32():
		v.fillTyped(b, key)
		return nil
	case !b.Sparse:
		fillValues(g.Values, key, 0)
		return nil
	}
	if err := g.SetRows(b.Capacity); err != nil {
		return err
	}
	n := 0
	for row := range b.TableRows {
		if !hasRow(key, row, v.chance) {
			continue
		}
		g.Rows[n] = int32(row) // #nosec G115 -- a row
		fillValues(g.Values[n*b.Width:][:b.Width], key, row*b.Width)
		n++
	}
	return g.SetRows(n)
}
