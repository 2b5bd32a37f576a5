package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/psbench/psbench/core/record/result"
)

// LinkMeasurer is a Starter for several hosts that can measure the links between these hosts.
type LinkMeasurer interface {
	// MeasureLinks measures the link between each pair of hosts for the time during. The processes on the hosts are
	// idle. Pairs without a common host may be measured in parallel, in the order of Rounds.
	MeasureLinks(ctx context.Context, during time.Duration) ([]result.HostLink, error)
}

// linkTime is how long each link is measured. With a round trip of a few ms, a sender reaches the full rate within this
// time.
const linkTime = 600 * time.Millisecond

// MeasureLinks measures the links between the run's hosts while all processes are idle. With one host, MeasureLinks
// does nothing. A failure becomes only a warning.
func (c *Cluster) MeasureLinks(ctx context.Context) (links []result.HostLink, warning string) {
	m, ok := c.starter.(LinkMeasurer)
	if !ok {
		return nil, ""
	}
	links, err := m.MeasureLinks(ctx, linkTime)
	if err != nil {
		warning = fmt.Sprintf("not all links between the hosts could be measured: %v", err)
	}
	return links, warning
}

// Rounds divides all pairs of hosts into rounds, so that each host is in at most one pair of a round. There are n-1
// rounds, or n if n is odd. The algorithm is the circle method of tournaments: the last host keeps its seat, and all
// others move by one seat after each round.
func Rounds(hosts int) (rounds [][][2]int) {
	seats := hosts + hosts%2 // with an odd number, one host pauses each round
	for round := range seats - 1 {
		var pairs [][2]int
		at := func(seat int) int {
			if seat == seats-1 {
				return seat
			}
			return (seat + round) % (seats - 1)
		}
		for i := range seats / 2 {
			a, b := at(i), at(seats-1-i)
			if max(a, b) < hosts {
				pairs = append(pairs, [2]int{min(a, b), max(a, b)})
			}
		}
		rounds = append(rounds, pairs)
	}
	return rounds
}
