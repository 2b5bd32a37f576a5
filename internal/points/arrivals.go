package points

import (
	"fmt"
	"slices"
	"time"

	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// arrivals is for servers that combine gradients on arrival.
var arrivals = harness.Point{
	Name: "arrivals",
	Promise: "the answer depends neither on the order in which gradients arrive nor on how many are combined at " +
		"once; a server whose answer does, such as a median, must combine on the last arrival",
	Ranks: 3,
	OnRank: func(r *harness.Rank) error {
		noted := map[int][]float32{} // results of the first order, by bucket
		for round := range r.Size {
			time.Sleep(time.Duration((r.Position+round)%r.Size) * harness.Moment)
			if err := reduceAgain(r, round, noted); err != nil {
				return err
			}
		}
		return nil
	},
	Alone: combinedInAnyOrder,
}

// reduceAgain reduces the same gradients in every round.
func reduceAgain(r *harness.Rank, round int, noted map[int][]float32) error {
	for _, b := range r.Buckets {
		if b.Sparse {
			continue
		}
		if err := filled(nil)(r, b, 0); err != nil {
			return err
		}
		if err := harness.Within(r.Subject.Patience(), r.Hook.Reduce(batchState(round), b).Wait); err != nil {
			return err
		}
		if round == 0 {
			noted[b.Index] = slices.Clone(b.Gradient.Values)
		} else if i := differs(noted[b.Index], b.Gradient.Values); i >= 0 {
			return fmt.Errorf("the same gradients have the answer %g as element %d of bucket %d, and %g when they "+
				"arrive in another order",
				noted[b.Index][i], i, b.Index, b.Gradient.Values[i])
		}
	}
	return nil
}

// combinedInAnyOrder combines the gradients of three trainers in several orders, one after the other and all at
// once.
func combinedInAnyOrder(s *harness.Subject) error {
	server, err := buildElementwise(s)
	if err != nil {
		return err
	}
	first := combined(server, [3]int{0, 1, 2}, false)
	for _, order := range [][3]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		for how, atOnce := range map[string]bool{"one after the other": false, "at once": true} {
			answer := combined(server, order, atOnce)
			if i := differs(first, answer); i >= 0 {
				return fmt.Errorf("element %d of %d is %g when the gradients are combined one after the other, and %g "+
					"when the gradients of trainers %d are combined %s", i, several, first[i], answer[i], order, how)
			}
		}
	}
	return nil
}

// combined returns the answer to the gradients of three trainers that arrive in the given order.
func combined(server sdk.ElementwiseServer, order [3]int, atOnce bool) []float32 {
	sum := elements(order[0], several)
	others := [][]float32{elements(order[1], several), elements(order[2], several)}
	if atOnce {
		server.Combine(sum, others)
	} else {
		server.Combine(sum, others[:1])
		server.Combine(sum, others[1:])
	}
	server.Finish(sum)
	return sum
}
