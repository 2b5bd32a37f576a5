package serverlink

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
)

func TestSharedLinkEndsInTime(t *testing.T) {
	h := newStar(t, 1, []tensor.BucketSpec{commtest.DenseSpec(0, 8)}, 500*time.Millisecond,
		func(*comm.Arrival) error { return nil })
	var wait *comm.WaitError
	if err := h.links[0].PushPull(3, h.stores[0].Buckets[0]).Wait(); !errors.As(err, &wait) ||
		wait.Error() != "trainer0 waited 0.5 s for the answer to batch 3, bucket 0 from server9" {
		t.Errorf("a server that does not answer gave %v", err)
	}
}

func TestSharedLinkNoticesADeadServer(t *testing.T) {
	h := newStar(t, 2, []tensor.BucketSpec{commtest.DenseSpec(0, 8)}, linktest.Patience, func(a *comm.Arrival) error {
		if a.Trainer == 1 {
			return errors.New("the plugin failed")
		}
		return nil
	})
	first := h.links[0].PushPull(0, h.stores[0].Buckets[0])
	second := h.links[1].PushPull(0, h.stores[1].Buckets[0])
	for i, f := range []*comm.Future{first, second} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			var peer *comm.PeerError
			if err := f.Wait(); !errors.As(err, &peer) || peer.Peer != "server9" {
				t.Errorf("a server that failed gave %v", err)
			}
		})
	}
	if err := <-h.served; err == nil || err.Error() != "the plugin failed" {
		t.Errorf("serve gave %v", err)
	}
}

func TestSharedPortNoticesADeadTrainer(t *testing.T) {
	h := newStar(t, 2, []tensor.BucketSpec{commtest.DenseSpec(0, 8)}, linktest.Patience,
		func(*comm.Arrival) error { return nil })
	f := h.links[0].PushPull(0, h.stores[0].Buckets[0])
	_ = h.links[1].client.conn.Close()
	var peer *comm.PeerError
	if err := <-h.served; !errors.As(err, &peer) || peer.Peer != "trainer1" {
		t.Errorf("a trainer that died gave %v", err)
	}
	if err := f.Wait(); err == nil {
		t.Error("the other trainer's push has no error")
	}
}

// The port checks all data in a trainer's slot before it relies on them.
func TestSharedPortRefusesLies(t *testing.T) {
	spec := commtest.SparseSpec(0, 10, 2, 4)
	for want, lie := range map[string]func(h *star, l *layout.PushLine){
		"does not fit a capacity of 4 rows": func(_ *star,
			l *layout.PushLine) {
			l.Rows = 5
		},
		"a sparse gradient of -1 rows": func(_ *star,
			l *layout.PushLine) {
			l.Rows = -1
		},
		"place 7, which does not exist": func(_ *star,
			l *layout.PushLine) {
			l.Place = 7
		},
		"row 0 at place 1, which is not above row 0 before it": func(_ *star,
			l *layout.PushLine) {
			l.Rows = 2
		},
		"row 10 at place 0, which is beyond the last row: rows must ascend within a table of 10": func(h *star,
			l *layout.PushLine) {
			l.Rows = 1
			h.stores[0].Buckets[0].Shown[0] = 10
		},
		"before batch 0 of that bucket was answ": func(_ *star,
			l *layout.PushLine) {
			l.Pushed.Add(4)
		},
		"as number 3 where number 0 is due": func(_ *star,
			l *layout.PushLine) {
			l.Order = 3
		},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			h := newStar(t, 1, []tensor.BucketSpec{spec}, linktest.Patience,
				func(a *comm.Arrival) error { return a.Answer(a.Gradient) })
			line := h.links[0].pushes[0].line
			lie(h, line)
			line.Pushed.Add(1)
			h.links[0].client.server.Ring()
			if err := <-h.served; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: serve gave %v", want, err)
			}
		})
	}
}

func TestSharedStoresMustAgree(t *testing.T) {
	near, far := linktest.Link(t, wire.Unix, "trainer0", "server9")
	store, err := layout.NewStore("trainer0 buckets", []tensor.BucketSpec{commtest.DenseSpec(0, 1<<20)}, true)
	commtest.Must(t, err)
	defer func() { _ = store.Close() }()
	failed := make(chan error, 1)
	go func() { _, err := newLink(near, store, linktest.Patience, nil); failed <- err }()
	if _, err := newPort(wire.Links{Self: "server9", Conns: []*wire.Conn{far}, Timeout: linktest.Patience},
		[]tensor.BucketSpec{commtest.DenseSpec(0, 8)}, false, false, nil); err == nil {
		t.Error("a port took a store of another size")
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "both must agree on the buckets") {
		t.Errorf("a link with other buckets gave %v", err)
	}
}

// If either end closes its link, pending pushes fail and the other end is
// notified.
func TestSharedCloseWhilePending(t *testing.T) {
	h := newStar(t, 2, []tensor.BucketSpec{commtest.DenseSpec(0, 8)}, linktest.Patience,
		func(*comm.Arrival) error { return nil })
	first, second := h.links[0].PushPull(0, h.stores[0].Buckets[0]), h.links[1].PushPull(0, h.stores[1].Buckets[0])
	commtest.Must(t, h.links[0].Close())
	if err := first.Wait(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a push that was pending when its link closed gave %v", err)
	}
	var peer *comm.PeerError
	if err := <-h.served; !errors.As(err, &peer) || peer.Peer != "trainer0" {
		t.Errorf("a link that closed with a push pending gave %v", err)
	}
	commtest.Must(t, h.port.Close())
	if err := second.Wait(); !errors.As(err, &peer) {
		t.Errorf("a push to a port that closed gave %v", err)
	}
}

// The port refuses a segment that its owner could shrink, or that is smaller
// than agreed, and names the sender.
func TestSharedPortRefusesSegments(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 8)}
	size := layout.PushControlBytes(len(specs))
	for want, c := range map[string]struct{ bytes, seals int }{
		"sealed":   {size, 0},
		"bytes":    {size / 2, unix.F_SEAL_SHRINK | unix.F_SEAL_GROW},
		"trainer0": {0, unix.F_SEAL_SHRINK | unix.F_SEAL_GROW},
	} {
		near, far := linktest.Link(t, wire.Unix, "trainer0", "server9")
		failed := make(chan error, 1)
		go func() {
			_, err := newPort(wire.Links{Self: "server9", Conns: []*wire.Conn{far}, Timeout: linktest.Patience}, specs,
				false, false, nil)
			failed <- err
		}()
		var request wire.Header
		commtest.Must(t, near.ReadHeader(&request))
		fd, err := unix.MemfdCreate("foreign", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
		commtest.Must(t, err)
		commtest.Must(t, unix.Ftruncate(fd, int64(c.bytes)))
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, c.seals)
		commtest.Must(t, err)
		nc, _ := near.Hijack()
		commtest.Must(t, shm.SendFDs(nc.(*net.UnixConn), make([]byte, 8), fd)) // the segment's size goes with it
		commtest.Must(t, unix.Close(fd))
		err = <-failed
		if err == nil || !strings.Contains(err.Error(), "server9 refuses the segment from trainer0") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("a segment of %d bytes with seals %#x gave %v", c.bytes, c.seals, err)
		}
	}
}

// The link checks a server's answer like the port checks a push.
func TestSharedLinkRefusesLies(t *testing.T) {
	for want, lie := range map[string]func(line *layout.PushLine, b *tensor.Bucket){
		"does not fit a capacity of 4 rows": func(line *layout.PushLine, _ *tensor.Bucket) {
			line.Rows = 5
		},
		"row 10 at place 0, which is beyond the last row": func(line *layout.PushLine, b *tensor.Bucket) {
			line.Rows, b.Shown[0] = 1, 10
		},
	} {
		t.Run(want, func(t *testing.T) {
			pushed := make(chan *comm.Arrival, 1)
			h := newStar(t, 1, []tensor.BucketSpec{commtest.SparseSpec(0, 10, 2, 4)}, linktest.Patience,
				func(a *comm.Arrival) error { pushed <- a; return nil })
			f := h.links[0].PushPull(0, h.stores[0].Buckets[0])
			<-pushed
			a := h.port.trainers[0].slots[0]
			lie(a.line, a.bucket)
			a.line.Answered.Store(a.seen)
			a.bell.Ring()
			if err := f.Wait(); err == nil || !strings.Contains(err.Error(), "server9 answered batch 0, bucket 0") ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%q: the push ended with %v", want, err)
			}
		})
	}
}
