package hosts

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		hosts []int
		rails int
		peers string // each member's peers, by position
	}{
		{[]int{0}, 1, "[[]]"},
		{[]int{0, 0, 0}, 3, "[[1 2] [0 2] [0 1]]"},
		{[]int{0, 1}, 1, "[[1] [0]]"},
		{[]int{0, 0, 1, 1}, 2, "[[1 2] [0 3] [0 3] [1 2]]"},
		{[]int{7, 3, 7, 3}, 2, "[[1 2] [0 3] [0 3] [1 2]]"},
		{[]int{0, 0, 0, 1}, 1, "[[1 2 3] [0 2] [0 1] [0]]"},
		{[]int{0, 1, 1, 1}, 1, "[[1] [0 2 3] [1 3] [1 2]]"},
		{[]int{0, 0, 1, 2}, 1, "[[1 2 3] [0] [0 3] [0 2]]"},
		{[]int{0, 1, 2, 3}, 1, "[[1 3] [0 2] [1 3] [0 2]]"},
	} {
		t.Run(c.peers, func(t *testing.T) {
			peers := make([][]int, len(c.hosts))
			for i := range c.hosts {
				l := Of(c.hosts, i)
				if peers[i] = l.Peers(); l.Rails != c.rails {
					t.Errorf("%v has %d rails, want %d", c.hosts, l.Rails, c.rails)
				}
			}
			if got := fmt.Sprint(peers); got != c.peers {
				t.Errorf("in %v members are joined to %s, want %s", c.hosts, got, c.peers)
			}
		})
	}
}

// Connections are mutual, and every member can reach every other member.
func TestPeersAreMutual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 9).Draw(t, "hosts")
		reached := map[int]bool{}
		var reach func(i int)
		reach = func(i int) {
			if reached[i] {
				return
			}
			reached[i] = true
			l := Of(hosts, i)
			if host, place := l.HostOf(i); host != l.Host || place != l.Place || l.Here()[place] != i {
				t.Fatalf("position %d is at %d.%d and at %d.%d", i, host, place, l.Host, l.Place)
			}
			for _, peer := range l.Peers() {
				other := Of(hosts, peer)
				if peer == i || !slices.Contains(other.Peers(), i) {
					t.Fatalf("%d is joined to %d, which is joined to %v", i, peer, other.Peers())
				}
				reach(peer)
			}
		}
		reach(0)
		if len(reached) != len(hosts) {
			t.Fatalf("of %v only %d are reached", hosts, len(reached))
		}
	})
}
