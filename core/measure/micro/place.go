package micro

import (
	"cmp"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/internal/comm/fabric"
)

// place returns where the processes run on the given hosts. The core's host comes first, unless the core is apart.
// Without any hosts, all processes run on this host. The ranks of every transport run at the same places, so the result
// records these places once.
func (s *session) place(hosts []placement.Host, apart bool) (*placement.Layout, error) {
	if len(hosts) == 0 {
		hosts = []placement.Host{placement.Here("", 0)}
	}
	var all []placement.Process
	for _, p := range s.plan.newRanks(nil, "").processes() {
		q := placement.Process{Name: p.Name, Kind: placement.Trainer}
		if p.serves {
			q.Kind = placement.Server
		}
		if p.host != nil {
			q.Beside = p.host.Name
		}
		all = append(all, q)
	}
	one, err := placement.Lay(hosts, all, s.plan.ServerPlace, cmp.Or(s.plan.Affinity, placement.Anywhere))
	if err != nil {
		return nil, err
	}
	s.result.Warnings = append(s.result.Warnings, one.Notes...)
	if !one.Plain() || apart {
		s.result.Placement = one
	}
	layout := *one
	layout.Processes = nil
	for _, w := range s.ranks {
		for i, p := range w.processes() {
			placed := one.Processes[i]
			placed.Name = p.Name
			layout.Processes = append(layout.Processes, placed)
		}
	}
	return &layout, nil
}

// choose selects the fastest transport between the hosts if the user did not choose a transport.
func (s *session) choose() {
	if w := s.ranks[0]; len(s.plan.Fabrics) == 0 && w.across() {
		w.fabric = fabric.DefaultAcross()
	}
}
