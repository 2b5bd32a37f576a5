package view

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/record/result"
)

// hostsOf describes the hosts of a run. It returns nil for a single host.
func hostsOf(r *result.Result) *Hosts {
	if r.Placement == nil || len(r.Placement.Hosts) < 2 {
		return nil
	}
	clocks := map[string]result.HostClock{}
	for _, c := range r.Clocks {
		clocks[c.Host] = c
	}
	h := &Hosts{ApartMS: float64(r.ApartNS(ranksOf(r))) / 1e6}
	for _, host := range r.Placement.Hosts {
		clock := "the clock of all times"
		if c, other := clocks[host.Name]; other {
			clock = fmt.Sprintf("%.6f s ahead ± %.3g ms, gains %.3g µs each second", float64(c.OffsetNS)/1e9,
				float64(c.BoundNS)/1e6, c.Drift*1e6)
		}
		h.List = append(h.List, Host{host.Name, host.Has(), clock})
	}
	for _, l := range r.Links {
		h.Transports = append(h.Transports, Fact{l.Transport, l.Ends()})
	}
	for _, l := range r.HostLinks {
		h.Links = append(h.Links, HostLink{l.From, l.To, l.OutGBps, l.BackGBps, l.RoundTripUS})
	}
	return h
}

func ranksOf(r *result.Result) (ranks []int) {
	for _, p := range r.Processes {
		ranks = append(ranks, p.Rank)
	}
	return ranks
}

// whereOf returns the place of a process, e.g. "node1, cuda:0, NUMA node 0, CPUs 0-3". For a run without a placement,
// whereOf returns "".
func whereOf(l *placement.Layout, name string) string {
	p, placed := l.Of(name)
	if !placed {
		return ""
	}
	where := []string{l.Hosts[p.Host].Name}
	if p.Device != nil {
		where = append(where, fmt.Sprintf("cuda:%d", *p.Device))
	}
	if p.Node != nil {
		where = append(where, fmt.Sprintf("NUMA node %d", *p.Node), "CPUs "+p.CPUs.String())
	}
	return strings.Join(where, ", ")
}
