package micro

import (
	"slices"

	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/record/result"
)

// links lists the links of the ranks by transport.
func (w *ranks) links(p *Plan) []result.Links {
	joined := cluster.NewJoined(w.fabric)
	for _, s := range w.servers {
		cluster.AddTogether(joined, s, w.together(p, s))
	}
	if p.some(collective) || p.some(hooked) && (p.HookLinks.Group || p.HookLinks.Default) {
		cluster.AddGroup(joined, w.trainers)
	}
	return joined.List()
}

// together groups the trainers of a server. The trainers in each group push as one.
func (w *ranks) together(p *Plan, server *process) [][]*process {
	var trainers []*process
	for _, rank := range p.World.TrainersOf(server.rank) {
		trainers = append(trainers, w.trainers[rank])
	}
	return cluster.Together(server, trainers, p.Aggregate)
}

// checkTogether returns an error if trainers that should push as one cannot do so.
func (s *session) checkTogether() error {
	if !s.plan.Aggregate {
		return nil
	}
	some := false
	for _, w := range s.ranks {
		for _, server := range w.servers {
			for _, list := range w.together(s.plan, server) {
				some = some || len(list) > 1
			}
		}
		if err := cluster.CheckTogether(slices.Concat(w.trainers, w.servers)); err != nil {
			return err
		}
	}
	if warning := cluster.NothingTogether; !some && !slices.Contains(s.result.Warnings, warning) {
		s.result.Warnings = append(s.result.Warnings, warning)
	}
	return nil
}

// across reports whether the ranks run on several hosts.
func (w *ranks) across() bool {
	for _, p := range w.processes() {
		if !cluster.SameHost(p, w.trainers[0]) {
			return true
		}
	}
	return false
}
