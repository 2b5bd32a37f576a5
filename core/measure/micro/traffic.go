package micro

import (
	"context"
	"fmt"

	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/sdk"
)

// holder returns the process with the hook of a trainer.
func (p *process) holder() *process {
	if p.part != nil {
		return p.part
	}
	return p
}

// planTraffic asks the measured hook on each rank for its traffic plan and makes sure that all plans are equal.
func (s *session) planTraffic(ctx context.Context) error {
	if !s.plan.some(hooked) || !s.plan.Hook.Plans {
		return nil
	}
	var holders []*process // of all transports, which have the same buckets
	for _, w := range s.ranks {
		for _, t := range w.trainers {
			holders = append(holders, t.holder())
		}
	}
	err := cluster.Each(ctx, s.cluster, holders, cluster.Wait{Limit: s.plan.Timeout, For: "its plan"},
		func(ctx context.Context, p *process) error {
			reply, err := p.Plan(ctx, s.trafficRequest())
			p.planned(reply)
			return err
		})
	if err != nil {
		return err
	}
	var plans []traffic.Named
	for _, p := range s.ranks[0].trainers {
		plans = append(plans, traffic.Named{Process: p.holder().Name, Traffic: p.holder().traffic})
	}
	err = traffic.Agree(plans, s.plan.buckets(), s.plan.HookLinks.List(), s.plan.Aggregate)
	if err != nil {
		return err
	}
	if traffic.PushRounds(s.traffic()) > 0 && s.plan.some(served) {
		return fmt.Errorf("hook %s pushes payloads of its own, so the server takes no buckets: measure pushpull and the hook in two calls",
			s.plan.Hook.Key)
	}
	return nil
}

// traffic returns the plan of the measured hook; nil if it plans nothing.
func (s *session) traffic() sdk.Traffic { return s.ranks[0].trainers[0].holder().traffic }
