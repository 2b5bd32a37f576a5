package points

import (
	"fmt"
	"math"
	"time"
)

// arrivals is of servers that combine gradients as they arrive.
var arrivals = Point{
	Name:    "arrivals",
	Promise: "the answer does not depend on the order in which gradients arrive, nor on how many are combined at once, as that of a median does: such a server is combined on the last arrival",
	Ranks:   3,
	rank: func(r *Rank) error {
		noted := map[int][]float32{} // by bucket, of the first order
		for round := range r.Size {
			time.Sleep(time.Duration((r.Position+round)%r.Size) * moment)
			if err := r.reduceAgain(round, noted); err != nil {
				return err
			}
		}
		return nil
	},
	alone: func(s *Subject) error {
		server, err := s.elementwise()
		if err != nil {
			return err
		}
		const n = 1031
		combined := func(order [3]int, atOnce bool) []float32 {
			sum, others := elements(order[0], n), [][]float32{elements(order[1], n), elements(order[2], n)}
			if atOnce {
				server.Combine(sum, others)
			} else {
				server.Combine(sum, others[:1])
				server.Combine(sum, others[1:])
			}
			server.Finish(sum)
			return sum
		}
		first := combined([3]int{0, 1, 2}, false)
		for _, order := range [][3]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			for how, atOnce := range map[string]bool{"one after the other": false, "at once": true} {
				if i := differs(first, combined(order, atOnce)); i >= 0 {
					return fmt.Errorf("element %d of %d is %g when the gradients are combined one after the other, and %g when those of the trainers %d are %s", i, n, first[i], combined(order, atOnce)[i], order, how)
				}
			}
		}
		return nil
	},
}

// reduceAgain reduces the same gradients in every round.
func (r *Rank) reduceAgain(round int, noted map[int][]float32) error {
	for _, b := range r.Buckets {
		if b.Sparse {
			continue
		}
		if err := filled(nil)(r, b, 0); err != nil {
			return err
		}
		if err := within(r.subject.timeout(), r.Hook.Reduce(batchState(round), b).Wait); err != nil {
			return err
		}
		if round == 0 {
			noted[b.Index] = append([]float32{}, b.Gradient.Values...)
		} else if i := differs(noted[b.Index], b.Gradient.Values); i >= 0 {
			return fmt.Errorf("the same gradients have the answer %g as element %d of bucket %d, and %g when they arrive in another order", noted[b.Index][i], i, b.Index, b.Gradient.Values[i])
		}
	}
	return nil
}

// differs is the first element that is not the same but for the rounding of sums; -1: none.
func differs(a, b []float32) int {
	for i, v := range a {
		if !(math.Abs(float64(v-b[i])) <= 1e-5*max(1, math.Abs(float64(v)))) {
			return i
		}
	}
	return -1
}
