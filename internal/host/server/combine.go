package server

import (
	"fmt"

	"github.com/psbench/psbench/sdk"
)

// Combine computes an elementwise server's answer to each list of gradients, in the memory of the
// list's first gradient. For any other server, Combine returns why the answer is unknown.
func (r *Role) Combine(lists [][][]float32) (answers [][]float32, unknown string, err error) {
	if r.reduction == nil {
		return nil, "it is no elementwise server, so its right answer is unknown", nil
	}
	for _, list := range lists {
		if len(list) == 0 || len(list) > r.pushedFor {
			return nil, "", fmt.Errorf("%s cannot combine %d gradients: it has %d trainers", r.Name(), len(list),
				r.pushedFor)
		}
		for _, g := range list {
			if len(g) != len(list[0]) {
				return nil, "", fmt.Errorf("%s cannot combine gradients of %d and %d elements", r.Name(), len(list[0]),
					len(g))
			}
		}
		r.reduction.once(list[0], list[1:])
		answers = append(answers, list[0])
	}
	return answers, "", nil
}

// once combines gradients outside a pass in the same way as in a pass.
func (r *reduction) once(sum []float32, others [][]float32) {
	if r.timing == sdk.OnLastArrival {
		r.server.Combine(sum, others)
	} else {
		for i := range others {
			r.server.Combine(sum, others[i:i+1])
		}
	}
	r.server.Finish(sum)
}
