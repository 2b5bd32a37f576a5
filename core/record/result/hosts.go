package result

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/host/clocks"
	"github.com/psbench/psbench/internal/comm/limits"
)

// HostClock is the clock of a host other than the core's host. The estimate of this clock was used to convert the
// host's timestamps to the core's clock.
type HostClock struct {
	Host string `json:"host"`
	clocks.Estimate
}

// HostLink is the speed of the link between two hosts, measured with plain sockets after the pass.
type HostLink struct {
	From string `json:"from"` // host that measured
	To   string `json:"to"`
	limits.Link
}

// Clock identifies the clock of timestamps. Differences between timestamps of the same host have no clock error.
type Clock struct {
	Host    string
	BoundNS int64 // possible error of its timestamps, relative to the core's clock
}

// ApartNS returns the possible error, in ns, of the time between timestamps of two clocks. ApartNS returns 0 on one
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

// ApartNS returns by how many ns the difference between timestamps of two of these ranks may be wrong.
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

// Links lists the links that used one transport.
type Links struct {
	Transport string `json:"transport"`
	// Pairs contains the names of the two processes of each link. The two processes are a trainer and its server, or
	// two members of a group.
	Pairs [][2]string `json:"pairs"`
}

// mostPairs limits how many links of a transport are named.
const mostPairs = 8

// Ends lists the links by their processes, as in "trainer0-server2, trainer1-server2, 3 more".
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
