package points

import (
	"math"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/toys"
)

// filling writes a rank's gradient into a bucket. The values depend on rank, batch and bucket.
type filling func(r *harness.Rank, b *tensor.Bucket, batch int64) error

// filled returns a filling with these rows. Values are multiples of 1/64, so that their sums are exact in any
// order.
func filled(rows func(*harness.Rank) []int32) filling {
	return func(r *harness.Rank, b *tensor.Bucket, batch int64) error {
		if b.Sparse {
			if err := setRows(b, rows(r)); err != nil {
				return err
			}
		}
		for i := range b.Gradient.Values {
			b.Gradient.Values[i] = toys.Number(int(batch)*7919 + r.Position*104729 + b.Index*1299709 + i)
		}
		return nil
	}
}

func setRows(b *tensor.Bucket, rows []int32) error {
	err := b.Gradient.SetRows(min(len(rows), b.Capacity))
	if err == nil {
		copy(b.Gradient.Rows, rows)
	}
	return err
}

// ofRank uses different rows on each rank.
var ofRank = filled(rowsOfRank)

// zeros uses the rows of ofRank; all values are 0.
func zeros(r *harness.Rank, b *tensor.Bucket, batch int64) error {
	err := ofRank(r, b, batch)
	clear(b.Gradient.Values)
	return err
}

func rowsOfAll(*harness.Rank) []int32    { return []int32{0, 2, 3, 12} }
func rowsOfNobody(*harness.Rank) []int32 { return nil }

func rowsOfRank(r *harness.Rank) []int32 {
	p := int32(r.Position % 3) // #nosec G115 -- below 3
	return []int32{p, p + 1, p + 5}
}

func rowsOfFirst(r *harness.Rank) []int32 {
	if r.Position > 0 {
		return nil
	}
	return []int32{4}
}

// plain uses nonzero whole numbers, in rows that are spread over the table.
func plain(r *harness.Rank, b *tensor.Bucket, batch int64) error {
	return spread(r, b, batch, func(_ uint64, whole float32) float32 { return whole })
}

// extremes mixes zeros, denormals and large numbers with plain values. Some zeros occur on all ranks, and some
// on every second rank. In each element, all ranks have numbers of the same magnitude, so that sums are exact.
func extremes(r *harness.Rank, b *tensor.Bucket, batch int64) error {
	return spread(r, b, batch, func(sort uint64, whole float32) float32 {
		switch sort % 8 {
		case 0:
			return 0
		case 1:
			return whole * 0x1p-140
		case 2:
			return whole * 0x1p40
		case 3:
			if (sort/8+uint64(r.Position))%2 == 0 { // #nosec G115 -- a rank
				return float32(math.Copysign(0, float64(whole)))
			}
		}
		return whole / 64
	})
}

// spreadZeros uses the rows of plain; all values are 0.
func spreadZeros(r *harness.Rank, b *tensor.Bucket, batch int64) error {
	return spread(r, b, batch, func(uint64, float32) float32 { return 0 })
}

// spread writes a gradient by calling value for each element. The arguments of value are a number that is the same
// on all ranks, and a nonzero whole number from -1024 to 1023 that depends on the rank.
func spread(r *harness.Rank, b *tensor.Bucket, batch int64, value func(sort uint64, whole float32) float32) error {
	seed := mixed(uint64(batch)<<32 + uint64(b.Index)) // #nosec G115 -- not negative
	own := mixed(seed + uint64(r.Position) + 1)        // #nosec G115 -- a rank
	one := func(place int) float32 {
		whole := float32(int64(mixed(own+uint64(place))%2048) - 1024) // #nosec G115 -- below 2048, an index
		if whole == 0 {
			whole = 513
		}
		return value(mixed(seed^uint64(place)), whole) // #nosec G115 -- an index
	}
	g := &b.Gradient
	if !b.Sparse {
		for i := range g.Values {
			g.Values[i] = one(i)
		}
		return nil
	}
	if err := setRows(b, spreadRows(b, r.Position, r.Size, seed)); err != nil {
		return err
	}
	for i, row := range g.Rows {
		for k := range b.Width {
			g.Values[i*b.Width+k] = one(int(row)*b.Width + k)
		}
	}
	return nil
}

// spreadRows returns a rank's rows, from the first of the table to its last. All ranks together stay within the
// bucket's capacity. Some rows are on all ranks, some on several, some on one.
func spreadRows(b *tensor.Bucket, position, ranks int, seed uint64) (rows []int32) {
	n := min(b.Capacity/ranks, b.TableRows)
	for i := range n {
		from, to := i*b.TableRows/n, (i+1)*b.TableRows/n
		drawn := mixed(seed + uint64(i)*31) // #nosec G115 -- an index
		row := from
		switch {
		case i == n-1:
			row = to - 1
		case i == 0:
		case drawn%3 == 0: // different rows for each rank, if they fit
			row += (int(drawn%97) + position) % (to - from) // #nosec G115 -- below 97
		case drawn%3 == 1 && mixed(drawn+uint64(position))%2 == 0: // #nosec G115 -- a rank
			continue
		}
		rows = append(rows, int32(row)) // #nosec G115 -- a row
	}
	return rows
}

// mixed returns a number in which every bit depends on all bits of x.
func mixed(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
