package run

import (
	"context"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/cluster"
)

// Try begins e as Run does and ends it before its first pass. Its error is that of settings that a part
// refuses, of data that does not hold what model and trainer take, or of whatever else keeps the processes
// from being connected.
func Try(ctx context.Context, e *config.Experiment, o Options) error {
	r, err := begin(e, o)
	if err != nil {
		return err
	}
	var phases []cluster.Phase
	for _, p := range r.phases() {
		if p.Name == warmUpPhase || p.Name == measuredPhase {
			break
		}
		phases = append(phases, p)
	}
	return r.cluster.Run(ctx, cluster.Life{Phases: phases, Tell: func(string) {}, Report: func(error) {}})
}
