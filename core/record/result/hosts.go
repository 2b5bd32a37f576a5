package result

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/host/clocks"
	"github.com/psbench/psbench/internal/comm/limits"
)

// HostClock is the clock of a host other than the core's; its estimate moved the host's stamps to the core's clock.
type HostClock struct {
	Host string `json:"host"`
	clocks.Estimate
}

// HostLink is the best that the link between two hosts can do, measured with bare sockets after the pass.
type HostLink struct {
	From string `json:"from"` // the host that measured
	To   string `json:"to"`
	limits.Link
}

// Clock identifies the clock of stamps: stamps of one host have no error between them.
type Clock struct {
	Host    string
	BoundNS int64 // how wrong its stamps may be on the core's clock
}

// ApartNS is the possible error, in ns, of the time between a stamp of one clock and a stamp of another; 0 on one
// host.
func (c Clock) ApartNS(o Clock) int64 {
	if c.Host == o.Host {
		return 0
	}
	return c.BoundNS + o.BoundNS
}

// ClockOf returns the clock of a rank.
func (r *Result) ClockOf(rank int) Clock {
	var c Clock
	for _, p := range r.Processes {
		if p.Rank == rank {
			c.Host = p.Host
			break
		}
	}
	for _, h := range r.Clocks {
		if h.Host == c.Host {
			c.BoundNS = h.BoundNS
		}
	}
	return c
}

// ApartNS is the possible error, in ns, of times between stamps of any of these ranks.
func (r *Result) ApartNS(ranks []int) int64 {
	if len(r.Clocks) == 0 {
		return 0
	}
	bounds := map[string]int64{}
	for _, rank := range ranks {
		c := r.ClockOf(rank)
		bounds[c.Host] = c.BoundNS
	}
	var all []int64
	for _, ns := range bounds {
		all = append(all, ns)
	}
	if len(all) < 2 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)-1] + all[len(all)-2]
}

// Links are the links that one transport carried.
type Links struct {
	Transport string `json:"transport"`
	// Pairs names the processes at the two ends of each link: a trainer and its server, or two members of a group.
	Pairs [][2]string `json:"pairs"`
}

// mostPairs limits the named links of a transport.
const mostPairs = 8

// Ends lists the links by their ends: "trainer0-server2, trainer1-server2, 3 more".
func (l Links) Ends() string {
	var pairs []string
	for _, p := range l.Pairs[:min(mostPairs, len(l.Pairs))] {
		pairs = append(pairs, p[0]+"-"+p[1])
	}
	if more := len(l.Pairs) - len(pairs); more > 0 {
		pairs = append(pairs, fmt.Sprintf("%d more", more))
	}
	return strings.Join(pairs, ", ")
}
