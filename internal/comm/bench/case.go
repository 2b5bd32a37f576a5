package bench

import "math"

func (c Case) size() float64     { return float64(c.Bytes) }
func (c Case) trainers() float64 { return float64(c.Trainers) }

// gradient is the size of a rank's gradient before and after a reduction over
// this many ranks. A sparse gradient has the expected size for rows chosen at
// random. Each sparse row costs 4 bytes of row number in addition to its
// values.
func (c Case) gradient(ranks int) (before, after float64) {
	if !c.Sparse {
		return c.size(), c.size()
	}
	table := c.size() / float64(c.Width) * float64(c.Width+1)
	return table * c.Density, table * (1 - math.Pow(1-c.Density, float64(ranks)))
}

// reduced is gradient for an operation that reduces. A warm round starts with
// the result of the previous round.
func (c Case) reduced(ranks int) (before, after float64) {
	before, after = c.gradient(ranks)
	if c.Warm {
		before = after
	}
	return before, after
}

// copies is the extra volume if gradients lie outside the store: copying out of
// the heap and back.
func (c Case) copies() float64 {
	if !c.Copied {
		return 0
	}
	return 4 * c.trainers() * c.size()
}

// scattered is the volume of an operation that scatters a bucket. moved is the
// volume between several ranks. hops is the average number of ring links that a
// part passes.
func (c Case) scattered(moved, hops float64) Volume {
	others := (c.trainers() - 1) / c.trainers()
	v := Volume{Alg: c.size(), Bus: others * c.size(), Received: hops * (c.trainers() - 1) * c.size()}
	if c.Trainers > 1 {
		v.Moved = moved + c.copies()
	}
	return v
}
