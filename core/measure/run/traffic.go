package run

import (
	"context"
	"fmt"

	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/sdk"
)

// planTraffic makes sure that the hooks of all ranks have made the same traffic plan. A trainer that holds its hook has
// answered with the plan already; a companion with the hook is asked now.
func (r *run) planTraffic(ctx context.Context) error {
	if !r.e.Parts[sdk.KindHook].Plans {
		return nil
	}
	var beside []*process
	for _, t := range r.processes.trainers {
		if holder := t.holder(sdk.KindHook); holder != t {
			beside = append(beside, holder)
		}
	}
	err := cluster.Each(ctx, r.cluster, beside, cluster.Wait{Limit: r.e.Timeout, For: "its plan"},
		func(ctx context.Context, p *process) error {
			reply, err := p.Plan(ctx, r.trafficRequest())
			p.planned(reply)
			return err
		})
	if err != nil {
		return err
	}
	return r.agreeOnTraffic()
}

// agreeOnTraffic returns an error unless all hooks made the same, possible plan.
func (r *run) agreeOnTraffic() error {
	var plans []traffic.Named
	for _, t := range r.processes.trainers {
		p := t.holder(sdk.KindHook)
		plans = append(plans, traffic.Named{Process: p.Name, Traffic: p.plan.traffic})
	}
	if err := traffic.Agree(plans, r.buckets(), r.e.Links.List(), r.e.Aggregate); err != nil {
		return err
	}
	if pushes := traffic.PushRounds(r.traffic()) > 0; pushes && r.e.Service == sdk.ServiceParameters {
		return fmt.Errorf("%s pushes payloads of its own, but server %s updates parameters with whole buckets: choose a hook that pushes these",
			plans[0].Process, r.e.Parts[sdk.KindServer].Key)
	}
	return nil
}

// traffic returns the plan that all hooks have made; nil if they plan nothing.
func (r *run) traffic() sdk.Traffic { return r.processes.trainers[0].holder(sdk.KindHook).plan.traffic }
