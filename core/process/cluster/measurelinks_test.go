package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/comm/limits"
)

// Rounds contains each pair of hosts once, and no host is in two pairs of a round.
func TestRounds(t *testing.T) {
	for hosts := range 20 {
		seen := map[[2]int]bool{}
		rounds := Rounds(hosts)
		for _, pairs := range rounds {
			busy := map[int]bool{}
			for _, p := range pairs {
				if p[0] < 0 || p[0] >= p[1] || p[1] >= hosts || seen[p] || busy[p[0]] || busy[p[1]] {
					t.Fatalf("%d hosts: the pair %v in %v", hosts, p, rounds)
				}
				seen[p], busy[p[0]], busy[p[1]] = true, true, true
			}
		}
		if want := hosts * (hosts - 1) / 2; len(seen) != want || hosts > 1 && len(rounds) != hosts-1+hosts%2 {
			t.Errorf("%d hosts have %d pairs in %d rounds, want %d pairs", hosts, len(seen), len(rounds), want)
		}
	}
}

// linked is a fake Starter of two hosts that can measure links.
type linked struct {
	*fakes
	err error
}

func (l linked) MeasureLinks(_ context.Context, during time.Duration) ([]result.HostLink, error) {
	return []result.HostLink{{From: "node1", To: "node2", Link: limits.Link{OutGBps: during.Seconds()}}}, l.err
}

func TestMeasureLinks(t *testing.T) {
	c, s, _ := clusterOf(Options{}, nil, "trainer0")
	c.starter = s
	if links, warning := c.MeasureLinks(t.Context()); links != nil || warning != "" {
		t.Errorf("on one host there are %v (%s)", links, warning)
	}
	c.starter = linked{s, errors.New("no route to host")}
	links, warning := c.MeasureLinks(t.Context())
	if len(links) != 1 || links[0].OutGBps != linkTime.Seconds() ||
		warning != "not all links between the hosts could be measured: no route to host" {
		t.Errorf("between two hosts there are %v (%s)", links, warning)
	}
}
