package comm

import (
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/shm"
)

// hall is a server with its trainers' links through shared memory.
type hall struct {
	stores []*Store
	links  []*sharedLink
	port   *sharedPort
	served chan error
}

func newHall(t tb, trainers int, specs []BucketSpec, timeout time.Duration, handle func(*Arrival) error) *hall {
	t.Helper()
	h := &hall{served: make(chan error, 1), links: make([]*sharedLink, trainers)}
	near, far := make([]*Conn, trainers), make([]*Conn, trainers)
	for i := range trainers {
		near[i], far[i] = link(t, Unix, name(i), "server9")
		store, err := NewSharedStore(name(i), specs)
		must(t, err)
		h.stores = append(h.stores, store)
	}
	var joined sync.WaitGroup
	errs := make([]error, trainers)
	for i := range trainers {
		joined.Go(func() { h.links[i], errs[i] = newSharedLink(near[i], h.stores[i], timeout) })
	}
	port, err := newSharedPort("server9", far, specs, timeout)
	joined.Wait()
	must(t, errors.Join(append(errs, err)...))
	h.port = port
	go func() { h.served <- h.port.Serve(handle) }()
	t.Cleanup(func() {
		for i, l := range h.links {
			_ = l.Close()
			_ = h.stores[i].Close()
		}
		_ = h.port.Close()
	})
	return h
}

// place is the bucket of a store, or one of its own on the heap.
func place(s *Store, k int, copied bool) *Bucket {
	if copied {
		return NewBucket(s.Buckets[k].BucketSpec)
	}
	return s.Buckets[k]
}

func TestSharedPushPullAverages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trainers := rapid.IntRange(1, 4).Draw(t, "trainers")
		specs := []BucketSpec{
			denseSpec(0, rapid.IntRange(0, 5000).Draw(t, "elements")),
			sparseSpec(1, 40, rapid.IntRange(1, 20).Draw(t, "width"), 40),
		}
		h := newHall(t, trainers, specs, patience, newAverager(trainers, specs, false).handle)
		for batch := range int64(3) {
			for k, spec := range specs {
				var buckets []*Bucket
				for i := range trainers {
					b := place(h.stores[i], k, rapid.Bool().Draw(t, "copied"))
					fill(t, spec, &b.Gradient, 10)
					buckets = append(buckets, b)
				}
				want := sum(spec, buckets)
				for i := range want {
					want[i] /= float64(trainers)
				}
				var futures []*Future
				for i, b := range buckets {
					futures = append(futures, h.links[i].PushPull(batch, b))
				}
				for i, f := range futures {
					must(t, f.Wait())
					requireNear(t, table(spec, &buckets[i].Gradient), want)
					requireSame(t, &buckets[i].Gradient, &buckets[0].Gradient)
				}
			}
		}
	})
}

// In place the server works in the trainer's own memory and nothing is copied.
func TestSharedPushIsInPlace(t *testing.T) {
	specs := []BucketSpec{denseSpec(0, 8)}
	h := newHall(t, 1, specs, patience, func(a *Arrival) error {
		for i := range a.Gradient.Values {
			a.Gradient.Values[i]++
		}
		return a.Answer(a.Gradient)
	})
	b := h.stores[0].Buckets[0]
	before := &b.Gradient.Values[0]
	must(t, h.links[0].PushPull(0, b).Wait())
	if &b.Gradient.Values[0] != before || b.Gradient.Values[7] != 1 {
		t.Errorf("the gradient moved or is %v", b.Gradient.Values)
	}
	own := NewBucket(specs[0])
	must(t, h.links[0].PushPull(1, own).Wait())
	if own.Gradient.Values[7] != 1 || b.Gradient.Values[7] != 1 {
		t.Errorf("a copied push gave %v and left %v in the store", own.Gradient.Values, b.Gradient.Values)
	}
}

// A future that nobody waits for ends when the server answered, not when somebody
// looks, and does not hold up the bucket's next push.
func TestSharedAnswerKeepsItsTime(t *testing.T) {
	h := newHall(t, 1, []BucketSpec{denseSpec(0, 8)}, patience, func(a *Arrival) error { return a.Answer(a.Gradient) })
	b := h.stores[0].Buckets[0]
	first := h.links[0].PushPull(0, b)
	time.Sleep(50 * time.Millisecond)
	looked := Now()
	must(t, first.Wait())
	if late := looked - first.EndNS(); late < int64(10*time.Millisecond) {
		t.Errorf("the push ended %d ns before somebody looked, want the time of the answer", late)
	}
	second := h.links[0].PushPull(1, b)
	for h.port.trainers[0].slots[0].line.answered.Load() != 2 {
		time.Sleep(time.Millisecond)
	}
	must(t, h.links[0].PushPull(2, b).Wait())
	must(t, second.Wait())
}

// Pushes are handed over in the order in which their trainer made them, however the
// port comes across them.
func TestSharedPushesKeepTheirOrder(t *testing.T) {
	var specs []BucketSpec
	for b := range 5 {
		specs = append(specs, denseSpec(b, 1))
	}
	var got []int64
	h := newHall(t, 1, specs, patience, func(a *Arrival) error {
		got = append(got, a.Batch)
		return a.Answer(a.Gradient)
	})
	const rounds = 2000
	for n := range rounds {
		var futures []*Future
		for k := range specs {
			futures = append(futures, h.links[0].PushPull(int64(n*len(specs)+k), h.stores[0].Buckets[(k*(1+n%4)+n)%len(specs)]))
		}
		for _, f := range futures {
			must(t, f.Wait())
		}
	}
	must(t, h.links[0].Close())
	must(t, <-h.served)
	for i, batch := range got {
		if batch != int64(i) {
			t.Fatalf("push %d came as number %d of %d", batch, i, len(got))
		}
	}
	if len(got) != rounds*len(specs) {
		t.Errorf("%d pushes came", len(got))
	}
}

func TestSharedPushTwiceIsAnError(t *testing.T) {
	held := make(chan *Arrival, 1)
	h := newHall(t, 1, []BucketSpec{denseSpec(0, 8)}, patience, func(a *Arrival) error { held <- a; return nil })
	b := h.stores[0].Buckets[0]
	first := h.links[0].PushPull(0, b)
	if err := h.links[0].PushPull(1, b).Wait(); err == nil || !strings.Contains(err.Error(), "while batch 0 of that bucket is in flight") {
		t.Errorf("a second push gave %v", err)
	}
	a := <-held
	must(t, a.Answer(a.Gradient))
	must(t, first.Wait())
	if err := a.Answer(a.Gradient); err == nil || !strings.Contains(err.Error(), "has no push of it in flight") {
		t.Errorf("a second answer gave %v", err)
	}
}

func TestSharedLinkEndsInTime(t *testing.T) {
	h := newHall(t, 1, []BucketSpec{denseSpec(0, 8)}, 50*time.Millisecond, func(*Arrival) error { return nil })
	var wait *WaitError
	if err := h.links[0].PushPull(3, h.stores[0].Buckets[0]).Wait(); !errors.As(err, &wait) || wait.Error() != "trainer0 waited 0.05 s for the answer to batch 3, bucket 0 from server9" {
		t.Errorf("a server that does not answer gave %v", err)
	}
}

func TestSharedLinkNoticesADeadServer(t *testing.T) {
	h := newHall(t, 2, []BucketSpec{denseSpec(0, 8)}, patience, func(a *Arrival) error {
		if a.Trainer == 1 {
			return errors.New("the plugin failed")
		}
		return nil
	})
	first := h.links[0].PushPull(0, h.stores[0].Buckets[0])
	second := h.links[1].PushPull(0, h.stores[1].Buckets[0])
	for _, f := range []*Future{first, second} {
		var peer *PeerError
		if err := f.Wait(); !errors.As(err, &peer) || peer.Peer != "server9" {
			t.Errorf("a server that failed gave %v", err)
		}
	}
	if err := <-h.served; err == nil || err.Error() != "the plugin failed" {
		t.Errorf("serve gave %v", err)
	}
}

func TestSharedPortNoticesADeadTrainer(t *testing.T) {
	h := newHall(t, 2, []BucketSpec{denseSpec(0, 8)}, patience, func(*Arrival) error { return nil })
	f := h.links[0].PushPull(0, h.stores[0].Buckets[0])
	_ = h.links[1].conn.Close()
	var peer *PeerError
	if err := <-h.served; !errors.As(err, &peer) || peer.Peer != "trainer1" {
		t.Errorf("a trainer that died gave %v", err)
	}
	if err := f.Wait(); err == nil {
		t.Error("the other trainer's push has no error")
	}
}

// What a trainer writes into its slot is checked before anything relies on it.
func TestSharedPortRefusesLies(t *testing.T) {
	spec := sparseSpec(0, 10, 2, 4)
	for want, lie := range map[string]func(h *hall, l *pushLine){
		"does not fit a capacity of 4 rows":      func(_ *hall, l *pushLine) { l.rows = 5 },
		"a sparse gradient of -1 rows":           func(_ *hall, l *pushLine) { l.rows = -1 },
		"place 7, which does not exist":          func(_ *hall, l *pushLine) { l.place = 7 },
		"row 0 at place 1, not above row 0":      func(_ *hall, l *pushLine) { l.rows = 2 },
		"row 10 outside its table of 10 rows":    func(h *hall, l *pushLine) { l.rows = 1; h.stores[0].Buckets[0].Gradient.Rows[:1][0] = 10 },
		"before batch 0 of that bucket was answ": func(_ *hall, l *pushLine) { l.pushed.Add(4) },
		"as number 3 where number 0 is due":      func(_ *hall, l *pushLine) { l.order = 3 },
	} {
		h := newHall(t, 1, []BucketSpec{spec}, patience, func(a *Arrival) error { return a.Answer(a.Gradient) })
		line := h.links[0].pushes[0].line
		lie(h, line)
		line.pushed.Add(1)
		h.links[0].server.Ring()
		if err := <-h.served; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: serve gave %v", want, err)
		}
	}
}

func TestSharedStoresMustAgree(t *testing.T) {
	near, far := link(t, Unix, "trainer0", "server9")
	store, err := NewSharedStore("trainer0", []BucketSpec{denseSpec(0, 1<<20)})
	must(t, err)
	defer func() { _ = store.Close() }()
	failed := make(chan error, 1)
	go func() { _, err := newSharedLink(near, store, patience); failed <- err }()
	if _, err := newSharedPort("server9", []*Conn{far}, []BucketSpec{denseSpec(0, 8)}, patience); err == nil {
		t.Error("a port took a store of another size")
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "both must agree on the buckets") {
		t.Errorf("a link with other buckets gave %v", err)
	}
}

// newGroups joins size members through shared memory.
func newGroups(t tb, size int, timeout time.Duration, specs func(member int) []BucketSpec) []*sharedGroup {
	t.Helper()
	conns := make([][]*Conn, size)
	for i := range conns {
		conns[i] = make([]*Conn, size)
	}
	for i := range size {
		for j := range i {
			conns[j][i], conns[i][j] = link(t, Unix, name(j), name(i))
		}
	}
	groups, errs := make([]*sharedGroup, size), make([]error, size)
	var joined sync.WaitGroup
	for i := range size {
		joined.Go(func() {
			store, err := NewSharedStore(name(i), specs(i))
			if err == nil {
				groups[i], err = newSharedGroup(name(i), i, conns[i], store, timeout)
			}
			errs[i] = err
		})
	}
	joined.Wait()
	must(t, errors.Join(errs...))
	t.Cleanup(func() {
		for _, g := range groups {
			_ = g.Close()
			_ = g.own.stores[inStore].Close()
		}
	})
	return groups
}

func (g *sharedGroup) bucket(k int, copied bool) *Bucket {
	return place(g.own.stores[inStore], k, copied)
}

func TestSharedGroupSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(t, "size")
		specs := []BucketSpec{
			denseSpec(0, rapid.IntRange(0, 9).Draw(t, "few")),
			denseSpec(1, rapid.IntRange(0, 30_000).Draw(t, "many")),
			sparseSpec(2, 50, rapid.IntRange(1, 300).Draw(t, "width"), 50),
		}
		groups := newGroups(t, size, patience, same(specs...))
		for batch := range int64(3) {
			order := rapid.Permutation([]int{0, 1, 2}).Draw(t, "order")
			var futures []*Future
			buckets, want := make([][]*Bucket, len(specs)), make([][]float64, len(specs))
			for k, spec := range specs {
				for i := range size {
					b := groups[i].bucket(k, rapid.Bool().Draw(t, "copied"))
					fill(t, spec, &b.Gradient, 20)
					buckets[k] = append(buckets[k], b)
				}
				want[k] = sum(spec, buckets[k])
			}
			for i, g := range groups {
				for _, k := range order {
					futures = append(futures, g.AllReduce(batch, buckets[k][i]))
				}
			}
			for _, f := range futures {
				must(t, f.Wait())
			}
			for k, spec := range specs {
				for _, b := range buckets[k] {
					requireNear(t, table(spec, &b.Gradient), want[k])
					requireSame(t, &b.Gradient, &buckets[k][0].Gradient)
				}
			}
		}
	})
}

func TestSharedGroupBroadcastsAndLinesUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 4).Draw(t, "size")
		specs := []BucketSpec{denseSpec(0, rapid.IntRange(0, 9000).Draw(t, "many")), sparseSpec(1, 50, 3, 50)}
		groups := newGroups(t, size, patience, same(specs...))
		root := rapid.IntRange(0, size-1).Draw(t, "root")
		for k, spec := range specs {
			var buckets []*Bucket
			for i := range size {
				b := groups[i].bucket(k, rapid.Bool().Draw(t, "copied"))
				fill(t, spec, &b.Gradient, 20)
				buckets = append(buckets, b)
			}
			want := NewGradient(spec)
			must(t, want.CopyFrom(&buckets[root].Gradient))
			var wg sync.WaitGroup
			errs := make([]error, size)
			for i, g := range groups {
				wg.Go(func() { errs[i] = errors.Join(g.Broadcast(7, buckets[i], root).Wait(), g.Barrier()) })
			}
			wg.Wait()
			must(t, errors.Join(errs...))
			for _, b := range buckets {
				requireSame(t, &b.Gradient, &want)
			}
		}
	})
}

// Nobody leaves a barrier before all have reached it.
func TestSharedGroupBarrier(t *testing.T) {
	const size, rounds = 3, 300
	groups := newGroups(t, size, patience, same(denseSpec(0, 4)))
	var reached [rounds]atomic.Int32
	var wg sync.WaitGroup
	for _, g := range groups {
		wg.Go(func() {
			for round := range rounds {
				reached[round].Add(1)
				if err := g.Barrier(); err != nil {
					t.Error(err)
					return
				}
				if n := reached[round].Load(); n != size {
					t.Errorf("barrier %d let a member go when %d of %d had reached it", round, n, size)
					return
				}
			}
		})
	}
	wg.Wait()
	waiting := make(chan error, 1)
	go func() { waiting <- groups[0].Barrier() }()
	for !groups[0].busy() {
		time.Sleep(time.Millisecond)
	}
	if err := groups[0].Barrier(); err == nil || !strings.Contains(err.Error(), "while the last one is in flight") {
		t.Errorf("a second barrier at once gave %v", err)
	}
	must(t, groups[0].Close())
	if err := <-waiting; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a barrier that was pending when its group closed gave %v", err)
	}
}

// What is pending when an end is closed fails, and the other side is told.
func TestSharedCloseWhilePending(t *testing.T) {
	h := newHall(t, 2, []BucketSpec{denseSpec(0, 8)}, patience, func(*Arrival) error { return nil })
	first, second := h.links[0].PushPull(0, h.stores[0].Buckets[0]), h.links[1].PushPull(0, h.stores[1].Buckets[0])
	must(t, h.links[0].Close())
	if err := first.Wait(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a push that was pending when its link closed gave %v", err)
	}
	var peer *PeerError
	if err := <-h.served; !errors.As(err, &peer) || peer.Peer != "trainer0" {
		t.Errorf("a link that closed with a push pending gave %v", err)
	}
	must(t, h.port.Close())
	if err := second.Wait(); !errors.As(err, &peer) {
		t.Errorf("a push to a port that closed gave %v", err)
	}
}

func TestSharedGroupDisagreement(t *testing.T) {
	specs := []BucketSpec{denseSpec(0, 4), denseSpec(1, 4)}
	groups := newGroups(t, 2, patience, same(specs...))
	a := groups[0].AllReduce(0, groups[0].bucket(0, false))
	b := groups[1].AllReduce(0, groups[1].bucket(1, false))
	errs := errors.Join(a.Wait(), b.Wait())
	if errs == nil || !strings.Contains(errs.Error(), "ranks must reduce the same buckets in the same order") {
		t.Errorf("two buckets at once gave %v", errs)
	}
}

func TestSharedGroupEndsInTime(t *testing.T) {
	for _, elements := range []int{4, 1 << 20} {
		groups := newGroups(t, 3, 400*time.Millisecond, same(denseSpec(0, elements)))
		f := groups[0].AllReduce(2, groups[0].bucket(0, false))
		time.Sleep(200 * time.Millisecond) // so that the third member waits on when the first gives up
		go func() { _ = groups[2].AllReduce(2, groups[2].bucket(0, false)).Wait() }()
		var wait *WaitError
		if err := f.Wait(); !errors.As(err, &wait) || len(wait.For) != 1 || wait.For[0] != "trainer1" {
			t.Errorf("a member that does not come gave %v", err)
		}
		if err := groups[0].AllReduce(3, groups[0].bucket(0, false)).Wait(); err == nil {
			t.Error("a failed group takes operations")
		}
	}
}

func TestSharedGroupNoticesADeadMember(t *testing.T) {
	groups := newGroups(t, 3, patience, same(denseSpec(0, 4)))
	f := groups[0].AllReduce(2, groups[0].bucket(0, false))
	groups[1].hangUp()
	var peer *PeerError
	if err := f.Wait(); !errors.As(err, &peer) || peer.Peer != "trainer1" {
		t.Errorf("a member that died gave %v", err)
	}
	groups = newGroups(t, 2, patience, same(denseSpec(0, 4)))
	must(t, groups[1].Close())
	if err := groups[0].Barrier(); !errors.As(err, &peer) || !errors.Is(err, errLeft) {
		t.Errorf("a member that left gave %v", err)
	}
	groups = newGroups(t, 2, patience, same(denseSpec(0, 4)))
	must(t, groups[0].Close())
	if err := groups[0].Barrier(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a barrier of a closed group gave %v", err)
	}
}

// A segment that its owner could shrink under the server, or that is smaller than
// it says, is refused with the name of who sent it.
func TestSharedPortRefusesSegments(t *testing.T) {
	specs := []BucketSpec{denseSpec(0, 8)}
	size := pushControlSize(len(specs))
	for want, c := range map[string]struct{ bytes, seals int }{
		"sealed":   {size, 0},
		"bytes":    {size / 2, unix.F_SEAL_SHRINK | unix.F_SEAL_GROW},
		"trainer0": {0, unix.F_SEAL_SHRINK | unix.F_SEAL_GROW},
	} {
		near, far := link(t, Unix, "trainer0", "server9")
		failed := make(chan error, 1)
		go func() {
			_, err := newSharedPort("server9", []*Conn{far}, specs, patience)
			failed <- err
		}()
		var request Header
		must(t, near.ReadHeader(&request))
		fd, err := unix.MemfdCreate("foreign", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
		must(t, err)
		must(t, unix.Ftruncate(fd, int64(c.bytes)))
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, c.seals)
		must(t, err)
		socket, err := near.unix()
		must(t, err)
		must(t, shm.SendFDs(socket, make([]byte, segmentNote), fd))
		must(t, unix.Close(fd))
		err = <-failed
		if err == nil || !strings.Contains(err.Error(), "server9 refuses the segment from trainer0") || !strings.Contains(err.Error(), want) {
			t.Errorf("a segment of %d bytes with seals %#x gave %v", c.bytes, c.seals, err)
		}
	}
}
