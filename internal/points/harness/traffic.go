package harness

import (
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/sdk"
)

// planTraffic asks a tested hook for its traffic plan. Other parts have none.
func (w *world) planTraffic(r *Rank, p *process.Process) (err error) {
	if !w.subject.Part.Plans {
		return nil
	}
	r.traffic, err = p.PlanTraffic(w.subject.choice(), sdk.TrafficEnv{Trainers: r.Size, Buckets: w.plan})
	return err
}

// agree returns an error unless all ranks have the same plan.
func (w *world) agree() error {
	var plans []traffic.Named
	for i, r := range w.ranks {
		plans = append(plans, traffic.Named{Process: w.rankProcess(i).Name(), Traffic: r.traffic})
	}
	return traffic.Agree(plans, w.plan, w.subject.Part.Links, false)
}
