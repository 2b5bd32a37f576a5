package bench

import "github.com/psbench/psbench/comm/tensor"

// The values of a fresh round are a hash of rank, index and round. The values
// are whole numbers from -1024 to 1023, so a float32 holds the sum over 16384
// ranks exactly, in any order of addition. Every process can compute the values
// of all ranks, and so the expected result.

// keyOf is the common part of the hashes of a rank's values in a round.
func keyOf(rank int, round int64) uint64 {
	x := uint64(rank+1)*0xBF58476D1CE4E5B9 ^ uint64(round+1)*0x94D049BB133111EB // #nosec G115 -- bits to mix
	x = (x ^ x>>31) * 0x9E3779B97F4A7C15
	return x ^ x>>29
}

// stride is the difference between the hash inputs of neighbouring elements.
const stride = 0x9E3779B97F4A7C15

// valueOf is the value with this key at element i, where place is i*stride.
func valueOf(key, place uint64) int32 {
	return int32((place^key)*0xD6E8FEB86659FD93>>53) - 1024 // #nosec G115 -- 11 bits
}

// fillValues writes the values with this key, starting with element first.
func fillValues(values []float32, key uint64, first int) {
	place := uint64(first) * stride // #nosec G115 -- an index
	for i := range values {
		values[i] = float32(valueOf(key, place))
		place += stride
	}
}

// addValues adds the values with this key to sums, starting with element first.
func addValues(sums []int32, key uint64, first int) {
	place := uint64(first) * stride // #nosec G115 -- an index
	for i := range sums {
		sums[i] += valueOf(key, place)
		place += stride
	}
}

// rowChance converts a density into the unit of hasRow's chance.
func rowChance(density float64) uint64 { return uint64(density * (1 << 32)) }

// hasRow reports whether the sparse gradient with this key contains a row of
// the table.
func hasRow(key uint64, row int, chance uint64) bool {
	return (uint64(row)*0xD1342543DE82EF95^key)*0xAF251AF3B0F025B5>>32 < chance // #nosec G115 -- a row
}

// Values generates the values of fresh rounds and checks the results.
type Values struct {
	// Rounded says that a mean may be the sum of summands that were divided one
	// by one, each with a rounding error.
	Rounded bool

	chance       uint64
	mean         bool
	keys, having []uint64
	sums         [512]int32  // sums of a run of elements
	gradients    [][]float32 // values of the same elements, per rank; used only to check an Answer
	others       [][]float32
}

// NewValues returns Values for ranks that each push the share density of a
// table's rows. With mean set, the expected result is the sum divided by the
// number of summands.
func NewValues(density float64, mean bool) *Values {
	return &Values{chance: rowChance(density), mean: mean}
}

// Fill overwrites b's gradient with the values of a rank in a round. Fill fills
// all of a dense gradient, or the rows of a sparse gradient that hasRow
// chooses.
func (v *Values) Fill(b *tensor.Bucket, rank int, round int64) error {
	g, key := &b.Gradient, keyOf(rank, round)
	if !b.Sparse {
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
