package bench

import "math"

func (c Case) size() float64     { return float64(c.Bytes) }
func (c Case) trainers() float64 { return float64(c.Trainers) }

// gradient is the size of a rank's gradient before an operation among so many ranks and,
// where it is reduced, after it. That of a sparse one is what is to be expected of rows
// chosen at random: each of its rows costs 4 bytes of row number beside its values.
func (c Case) gradient(ranks int) (before, after float64) {
	if !c.Sparse {
		return c.size(), c.size()
	}
	table := c.size() / float64(c.Width) * float64(c.Width+1)
	return table * c.Density, table * (1 - math.Pow(1-c.Density, float64(ranks)))
}

// reduced is gradient of an operation that reduces: a warm round has what the one before
// has left.
func (c Case) reduced(ranks int) (before, after float64) {
	before, after = c.gradient(ranks)
	if c.Warm {
		before = after
	}
	return before, after
}

// copies is what is read and written more where gradients live elsewhere: out of the heap
// and back.
func (c Case) copies() float64 {
	if !c.Copied {
		return 0
	}
	return 4 * c.trainers() * c.size()
}

// scattered is the volume of an operation that scatters a bucket; moved is what it
// moves between several ranks, hops how many links of a ring a part passes on average.
func (c Case) scattered(moved, hops float64) Volume {
	others := (c.trainers() - 1) / c.trainers()
	v := Volume{Alg: c.size(), Bus: others * c.size(), Received: hops * (c.trainers() - 1) * c.size()}
	if c.Trainers > 1 {
		v.Moved = moved + c.copies()
	}
	return v
}
