package points

import (
	"math"

	"github.com/psbench/psbench/comm/tensor"
)

// largeBatch has indices enough for the rows of the huge table.
const largeBatch = 2048

// Values is the name of the point that compares every element.
const Values = "values"

// values holds a hook or a server to what it declares to answer.
var values = Point{
	Name: Values,
	Promise: "every element is what the part declares to answer, the first and the last of a bucket too: of 1, 17 and 1,000,003 elements and of rows, " +
		"with zeros and with numbers of all magnitudes, for 1 to 3 trainers",
	Worlds:  []int{1, 2, 3},
	Large:   true,
	Samples: largeBatch,
	rank: func(r *Rank) error {
		answerer, end, err := r.answerer()
		if err != nil {
			return err
		}
		defer end()
		if answerer == nil {
			return Undeclared
		}
		for batch, fill := range []filling{plain, extremes, spreadZeros} {
			if err := r.reduceAll(int64(batch), fill); err != nil {
				return err
			}
			if err := r.compareAnswers(answerer, int64(batch), fill); err != nil {
				return err
			}
		}
		return nil
	},
}

// Undeclared is why no value of a part is compared that does not say what it answers.
const Undeclared = NotSeen("no value was compared, since the part does not declare what it answers: declare it (sdk.Answering, answers in Python), or say what to expect")

// plain has whole numbers that are not 0 everywhere, in rows that are spread over the table.
func plain(r *Rank, b *tensor.Bucket, batch int64) error {
	return spread(r, b, batch, func(_ uint64, whole float32) float32 { return whole })
}

// extremes has zeros, of all ranks and of some, denormals and large numbers among plain ones. All
// ranks have numbers of the same magnitude in an element, so that sums are exact.
func extremes(r *Rank, b *tensor.Bucket, batch int64) error {
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

// spreadZeros has the rows of plain, and no value but 0.
func spreadZeros(r *Rank, b *tensor.Bucket, batch int64) error {
	return spread(r, b, batch, func(uint64, float32) float32 { return 0 })
}

// spread makes a gradient whose element is value of a number that all ranks have there, and of a
// whole number from -1024 to 1023 of the rank's own that is not 0.
func spread(r *Rank, b *tensor.Bucket, batch int64, value func(sort uint64, whole float32) float32) error {
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

// spreadRows are rows of a rank, from the first of the table to its last, no more than all ranks
// together have room for: some on all ranks, some on several, some on one.
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
		case drawn%3 == 0: // of each its own, where there is room
			row += (int(drawn%97) + position) % (to - from) // #nosec G115 -- below 97
		case drawn%3 == 1 && mixed(drawn+uint64(position))%2 == 0: // #nosec G115 -- a rank
			continue
		}
		rows = append(rows, int32(row)) // #nosec G115 -- a row
	}
	return rows
}

// mixed is a number whose bits all depend on all bits of x.
func mixed(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
