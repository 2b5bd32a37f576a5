package run

import (
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/record/result"
)

// links lists the links of the experiment by transport.
func (r *run) links() []result.Links {
	joined := cluster.NewJoined(r.e.Fabric)
	for _, s := range r.processes.servers {
		switch {
		case r.lookup != nil:
			for _, rank := range r.e.World.TrainersOf(s.rank) {
				joined.Add(r.processes.trainers[rank], s)
			}
		case r.e.Links.Server:
			cluster.AddTogether(joined, s, r.together(s))
		}
	}
	if r.e.Links.Group || r.e.Links.Default {
		var members []*process
		for _, t := range r.processes.trainers {
			members = append(members, t.joiner())
		}
		cluster.AddGroup(joined, members)
	}
	return joined.List()
}

// together groups the processes that hold the hooks of a server's trainers. The processes in each group push as one.
func (r *run) together(server *process) [][]*process {
	var joiners []*process
	for _, rank := range r.e.World.TrainersOf(server.rank) {
		joiners = append(joiners, r.processes.trainers[rank].joiner())
	}
	return cluster.Together(server, joiners, r.e.Aggregate)
}
