package points

import (
	"fmt"

	"github.com/psbench/psbench/comm/vec"
)

// adds is of servers that are declared by sdk.Adding.
var adds = Point{
	Name:    "adds",
	Promise: "Combine of a server that is declared by sdk.Adding adds, for psbench may push sums in the place of gradients",
	Unseen:  "a run shows what Finish makes of a sum, and not the sum",
	alone: func(s *Subject) error {
		server, err := s.elementwise()
		if err != nil {
			return err
		}
		const n = 1031
		sum, want, others := elements(0, n), elements(0, n), [][]float32{elements(1, n), elements(2, n)}
		server.Combine(sum, others)
		for _, other := range others {
			vec.Add(want, other)
		}
		if i := differs(want, sum); i >= 0 {
			return fmt.Errorf("element %d of %d is %g when three gradients are combined, and their sum is %g", i, n, sum[i], want[i])
		}
		return nil
	},
}
