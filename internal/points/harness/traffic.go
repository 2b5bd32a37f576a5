package harness

import (
	"errors"

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

// agree returns an error if the plans of two ranks differ.
func (w *world) agree() error {
	first := w.rankProcess(0).Name()
	for i, r := range w.ranks {
		difference := traffic.Difference(w.ranks[0].traffic, r.traffic, first, w.rankProcess(i).Name())
		if difference != "" {
			return errors.New(difference)
		}
	}
	return nil
}
