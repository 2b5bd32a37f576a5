package config

import (
	"context"
	"fmt"

	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/sdk"
)

// aggregateHost has the trainers of a host push as one.
const aggregateHost = "host"

// checkAggregate refuses sums of hosts where no server could do with a sum what it does with its parts, or no
// link could carry it. That there are several hosts is seen when it is known where processes run.
func (r *resolver) checkAggregate(context.Context) error {
	r.exp.Aggregate = r.Aggregate == aggregateHost
	server := r.exp.Parts[sdk.KindServer]
	name := r.name("aggregate") + " is " + aggregateHost
	switch f := r.exp.Fabric; {
	case !r.exp.Aggregate:
		return nil
	case r.servers() == 0:
		return fmt.Errorf("%s but there is no server to push to: give --nserver 1 or more, or leave it out", name)
	case !server.Elementwise:
		return fmt.Errorf("%s but server %s is not elementwise: it takes the gradients of each trainer, not their sum", name, server.Key)
	case !server.Adds:
		return fmt.Errorf("%s but server %s does not say that it adds gradients up (sdk.Adding): it may do with a sum something else than with its parts", name, server.Key)
	case !r.exp.Auto && !f.Aggregates():
		return fmt.Errorf("%s but transport %s cannot: it needs %s, on which the trainers of a host share memory", name, f.Name, fabric.DefaultAcross().Name)
	}
	return nil
}
