package group

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shared/sharedtest"
	"github.com/psbench/psbench/internal/comm/wire"
)

// newGroups makes a group of size members in shared memory.
func newGroups(t commtest.TB, size int, timeout time.Duration, specs func(member int) []tensor.BucketSpec) []*group {
	t.Helper()
	return newGroupsOn(t, size, timeout, specs, func(int, *comm.Store) comm.Device { return nil })
}

// newGroupsOn is newGroups with buckets on a device. The function on moves a
// member's store to the device.
func newGroupsOn(t commtest.TB, size int, timeout time.Duration, specs func(member int) []tensor.BucketSpec,
	on func(member int, s *comm.Store) comm.Device) []*group {
	t.Helper()
	conns := make([][]*wire.Conn, size)
	for i := range conns {
		conns[i] = make([]*wire.Conn, size)
	}
	for i := range size {
		for j := range i {
			conns[j][i], conns[i][j] = linktest.Link(t, wire.Unix, linktest.Name(j), linktest.Name(i))
		}
	}
	groups, errs := make([]*group, size), make([]error, size)
	var joined sync.WaitGroup
	for i := range size {
		joined.Go(func() {
			store, err := layout.NewStore(linktest.Name(i)+" buckets", specs(i), true)
			if err == nil {
				groups[i], err = newGroup(wire.Links{Self: linktest.Name(i), Conns: conns[i], Timeout: timeout}, i,
					store, on(i, store))
			}
			errs[i] = err
		})
	}
	joined.Wait()
	commtest.Must(t, errors.Join(errs...))
	t.Cleanup(func() {
		for _, g := range groups {
			_ = g.Close()
			_ = g.own.stores[layout.InStore].Close()
		}
	})
	return groups
}

func (g *group) bucket(k int, copied bool) *tensor.Bucket {
	return sharedtest.BucketOf(g.own.stores[layout.InStore], k, copied)
}

// filled returns a function that draws a member's contents. The bucket is in
// the member's store or in separate memory.
func filled(t *rapid.T, groups []*group) func(member, k int) *tensor.Bucket {
	return func(member, k int) *tensor.Bucket {
		b := groups[member].bucket(k, rapid.Bool().Draw(t, "copied"))
		commtest.Fill(t, b.BucketSpec, &b.Gradient, 20)
		return b
	}
}

func TestSharedGroupSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(t, "size")
		specs := []tensor.BucketSpec{
			commtest.DenseSpec(0, rapid.IntRange(0, 9).Draw(t, "few")),
			commtest.DenseSpec(1, rapid.IntRange(0, 30_000).Draw(t, "many")),
			commtest.SparseSpec(2, 50, rapid.IntRange(1, 300).Draw(t, "width"), 50),
		}
		groups := newGroups(t, size, linktest.Patience, linktest.Same(specs...))
		linktest.RequireSums(t, groups, specs, 3, filled(t, groups))
	})
}

func TestSharedGroupBroadcastsAndLinesUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 4).Draw(t, "size")
		specs := []tensor.BucketSpec{commtest.DenseSpec(0, rapid.IntRange(0, 9000).Draw(t, "many")),
			commtest.SparseSpec(1, 50, 3, 50)}
		groups := newGroups(t, size, linktest.Patience, linktest.Same(specs...))
		linktest.RequireBroadcasts(t, groups, specs, 1, filled(t, groups))
	})
}

// No member leaves a barrier before all have reached it, and a barrier of a
// closed group fails.
func TestSharedGroupBarrier(t *testing.T) {
	groups := newGroups(t, 3, linktest.Patience, linktest.Same(commtest.DenseSpec(0, 4)))
	linktest.RequireBarriers(t, groups, 300, func(member int) *tensor.Bucket { return groups[member].bucket(0, false) })
	waiting := make(chan error, 1)
	go func() { waiting <- groups[0].Barrier() }()
	for groups[0].Awaited() == groups[0].Idle {
		time.Sleep(time.Millisecond)
	}
	if err := groups[0].Barrier(); err == nil || !strings.Contains(err.Error(), "while the last one is in flight") {
		t.Errorf("a second barrier at once gave %v", err)
	}
	commtest.Must(t, groups[0].Close())
	if err := <-waiting; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a barrier that was pending when its group closed gave %v", err)
	}
}

// Set-up maps only the pages that a member works on: a T-th of each bucket of
// each other member. Mapping everything would map T times a member's own pages.
func TestSharedGroupMapsItsShare(t *testing.T) {
	commtest.NeedsKernel(t, "smaps")
	const size, elements = 8, 1 << 20
	before := residentSegments(t) // segments of groups that failed in other tests
	newGroups(t, size, linktest.Patience, linktest.Same(commtest.DenseSpec(0, elements)))
	got, own := residentSegments(t)-before, 4*elements*size
	if most := 2*own + own/4; got < own || got > most {
		t.Errorf("%d bytes of segments are mapped, want from %d to %d", got, own, most)
	}
}

// residentSegments is the number of mapped bytes of segments in this process.
// Bytes that are mapped twice count twice.
func residentSegments(t *testing.T) int {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	commtest.Must(t, err)
	total, segment := 0, false
	for line := range strings.Lines(string(smaps)) {
		var kib int
		if _, err := fmt.Sscanf(line, "Rss: %d kB", &kib); err == nil && segment {
			total += kib << 10
		}
		if strings.Contains(line, "-") && !strings.Contains(strings.Fields(line)[0], ":") {
			segment = strings.Contains(line, "/memfd:")
		}
	}
	return total
}
