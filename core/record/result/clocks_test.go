package result

import (
	"fmt"
	"testing"

	"github.com/psbench/psbench/core/host/clocks"
)

// Differences between clocks limit the accuracy of times between ranks, of the throughput and of the start.
func TestApart(t *testing.T) {
	r := &Result{
		Processes: []Process{{Name: "data", Rank: -1, Host: "a"}, {Rank: 0, Host: "a"}, {Rank: 1, Host: "b"},
			{Rank: 2, Host: "b"}, {Rank: 3, Host: "c"}},
		Clocks: []HostClock{{"b", clocks.Estimate{BoundNS: 2e6}}, {"c", clocks.Estimate{BoundNS: 3e6}}},
	}
	for _, c := range []struct {
		ranks []int
		want  int64
	}{{[]int{0}, 0}, {[]int{1, 2}, 0}, {[]int{0, 1}, 2e6}, {[]int{1, 3}, 5e6}, {[]int{0, 1, 2, 3}, 5e6}, {nil, 0}} {
		t.Run(fmt.Sprint(c.want), func(t *testing.T) {
			if got := r.ApartNS(c.ranks); got != c.want {
				t.Errorf("ranks %v are exact to %d, want %d", c.ranks, got, c.want)
			}
			if len(c.ranks) == 2 {
				if got := r.ClockOf(c.ranks[0]).ApartNS(r.ClockOf(c.ranks[1])); got != c.want {
					t.Errorf("ranks %v are apart by %d, want %d", c.ranks, got, c.want)
				}
			}
		})
	}
	r.Pass = Measured
	r.Works = []Work{{Rank: 0, Samples: 5, StartNS: 1e9, EndNS: 2e9}, {Rank: 3, Samples: 5, StartNS: 1e9, EndNS: 2e9},
		{Rank: 1, WarmUp: true, Samples: 5, StartNS: 5e8, EndNS: 6e8}}
	r.Compute()
	if r.Throughput.Seconds != 1 || r.Throughput.SecondsBound != 0.003 || r.StartMS != 500 || r.StartBoundMS != 3 {
		t.Errorf("throughput %+v, start %g ± %g ms", r.Throughput, r.StartMS, r.StartBoundMS)
	}
	r.Clocks = nil
	r.Compute()
	if r.Throughput.SecondsBound != 0 || r.StartBoundMS != 0 {
		t.Errorf("on one clock: throughput %+v, start ± %g ms", r.Throughput, r.StartBoundMS)
	}
}
