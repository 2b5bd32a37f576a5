package stream

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
)

func TestPushPullDeadlineNamesTheServer(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		specs := []tensor.BucketSpec{commtest.DenseSpec(0, 3), commtest.DenseSpec(1, 3)}
		s := newStar(t, n, 1, specs, false, 50*time.Millisecond, func(*comm.Arrival) error { return nil })
		f, g := s.links[0].PushPull(3, tensor.NewBucket(specs[0])), s.links[0].PushPull(3, tensor.NewBucket(specs[1]))
		for _, err := range []error{f.Wait(), g.Wait()} {
			var wait *comm.WaitError
			if !errors.As(err, &wait) ||
				err.Error() != "trainer0 waited 0.05 s for the answer to batch 3, bucket 0 from server9" {
				t.Errorf("the deadline gave %v", err)
			}
		}
		if err := <-s.served; err == nil {
			t.Error("the server did not notice")
		}
	})
}

// vast is larger than all buffers of sockets and gRPC: 64 MiB.
var vast = commtest.DenseSpec(0, 16<<20)

func TestBlockedPushEndsAtTheDeadline(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		near, far := linktest.Link(t, n, "trainer0", "server9")
		defer func() { _ = far.Close() }()
		l := newLink(near, []tensor.BucketSpec{vast}, 100*time.Millisecond)
		defer func() { _ = l.Close() }()
		var wait *comm.WaitError
		if err := l.PushPull(3, tensor.NewBucket(vast)).Wait(); !errors.As(err, &wait) || wait.For[0] != "server9" ||
			!strings.Contains(wait.What, "batch 3, bucket 0") {
			t.Fatalf("a push that nobody reads gave %v", err)
		}
	})
}

// sendPush sends the first chunks of a push, as a trainer would, and ignores
// the answer.
func sendPush(t commtest.TB, c *wire.Conn, batch int64, b *tensor.Bucket, chunks int) {
	t.Helper()
	for k := range chunks {
		g := chunkOf(&b.Gradient, k)
		h := chunkHeader(wire.OpPush, batch, b.Index, k, &g)
		commtest.Must(t, c.Send(&h, tensor.Int32Bytes(g.Rows), tensor.Float32Bytes(g.Values)))
	}
}

func TestBlockedAnswerEndsAtTheDeadline(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		near, far := linktest.Link(t, n, "trainer0", "server9")
		p := heapPort(wire.Links{Self: "server9", Conns: []*wire.Conn{far}, Timeout: time.Second},
			[]tensor.BucketSpec{vast}, false)
		served := make(chan error, 1)
		go func() { served <- p.Serve(func(a *comm.Arrival) error { return a.Answer(a.Gradient) }) }()
		sendPush(t, near, 4, tensor.NewBucket(vast), chunksOf(&vast))
		var wait *comm.WaitError
		if err := <-served; !errors.As(err, &wait) || wait.For[0] != "trainer0" ||
			wait.What != "room for the answer to batch 4, bucket 0" {
			t.Fatalf("an answer that nobody reads gave %v", err)
		}
	})
}

func TestAPushThatStopsHalfWayEndsAtTheDeadline(t *testing.T) {
	spec := commtest.DenseSpec(0, 3*comm.ChunkElements)
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		for what, stop := range map[string]func(c *wire.Conn, b *tensor.Bucket) error{
			"between chunks": func(c *wire.Conn, b *tensor.Bucket) error { sendPush(t, c, 4, b, 1); return nil },
			"in a chunk": func(c *wire.Conn, b *tensor.Bucket) error {
				nc, h := c.Hijack()
				h.Op, h.Batch, h.Payload = wire.OpPush, 4, 4*comm.ChunkElements
				var buf [wire.HeaderSize]byte
				h.Encode(&buf)
				_, err := nc.Write(append(buf[:], make([]byte, 100)...))
				return err
			},
		} {
			s := newStar(t, n, 1, []tensor.BucketSpec{spec}, true, 250*time.Millisecond,
				func(*comm.Arrival) error { return nil })
			commtest.Must(t, stop(s.links[0].conn, tensor.NewBucket(spec)))
			if err := <-s.served; err == nil ||
				err.Error() != "server9 waited 0.25 s for the push of batch 4, bucket 0 from trainer0" {
				t.Errorf("a push that stops %s gave %v", what, err)
			}
		}
	})
}

func TestDeathOfThePeer(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		specs := []tensor.BucketSpec{commtest.DenseSpec(0, 3)}
		arrived := make(chan *comm.Arrival, 2)
		s := newStar(t, n, 2, specs, false, linktest.Patience, func(a *comm.Arrival) error { arrived <- a; return nil })
		f := s.links[0].PushPull(0, tensor.NewBucket(specs[0]))
		<-arrived
		start := time.Now()
		_ = s.links[1].conn.Close() // trainer1 dies without an orderly end
		var peer *comm.PeerError
		if err := <-s.served; !errors.As(err, &peer) || peer.Peer != "trainer1" {
			t.Fatalf("the server ended with %v", err)
		}
		if err := f.Wait(); !errors.As(err, &peer) || peer.Peer != "server9" ||
			!strings.Contains(err.Error(), "the answer to batch 0, bucket 0") {
			t.Fatalf("the pending push ended with %v", err)
		}
		if err := s.links[0].PushPull(1, tensor.NewBucket(specs[0])).Wait(); !errors.As(err, &peer) {
			t.Fatalf("a later push ended with %v", err)
		}
		if took := time.Since(start); took > time.Second {
			t.Fatalf("noticing took %v", took)
		}
	})
}

// TestDeathInTheMiddle cuts the connection in the middle of a push, and in the
// middle of an answer.
func TestDeathInTheMiddle(t *testing.T) {
	spec := commtest.DenseSpec(0, 3*comm.ChunkElements)
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		near, far := linktest.Link(t, n, "trainer0", "server9")
		p := heapPort(wire.Links{Self: "server9", Conns: []*wire.Conn{far}, Timeout: linktest.Patience},
			[]tensor.BucketSpec{spec}, false)
		served := make(chan error, 1)
		go func() { served <- p.Serve(func(*comm.Arrival) error { return nil }) }() // a socket may not hold two chunks
		sendPush(t, near, 7, tensor.NewBucket(spec), 2)
		commtest.Must(t, near.Close())
		var peer *comm.PeerError
		if err := <-served; !errors.As(err, &peer) || peer.Peer != "trainer0" ||
			peer.What != "the push of batch 7, bucket 0" {
			t.Errorf("a trainer that dies in its push gave %v", err)
		}

		near, far = linktest.Link(t, n, "trainer0", "server9")
		l := newLink(near, []tensor.BucketSpec{spec}, linktest.Patience)
		defer func() { _ = l.Close() }()
		f := l.PushPull(7, tensor.NewBucket(spec))
		payload := make([]byte, 4*comm.ChunkElements)
		var h wire.Header
		for range 3 {
			commtest.Must(t, far.ReadHeader(&h))
			commtest.Must(t, far.ReadFull(payload))
		}
		commtest.Must(t, far.Send(&wire.Header{Op: wire.OpAnswer, Batch: 7}, payload))
		commtest.Must(t, far.Close())
		if err := f.Wait(); !errors.As(err, &peer) || peer.Peer != "server9" ||
			peer.What != "the answer to batch 7, bucket 0" {
			t.Errorf("a server that dies in its answer gave %v", err)
		}
	})
}

// TestAnAnswerThatStopsHalfWayEndsAtTheDeadline stops the server in the middle
// of an answer.
func TestAnAnswerThatStopsHalfWayEndsAtTheDeadline(t *testing.T) {
	spec := commtest.DenseSpec(0, 2*comm.ChunkElements)
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		var once sync.Once
		s := newStar(t, n, 1, []tensor.BucketSpec{spec}, true, 500*time.Millisecond, func(a *comm.Arrival) (err error) {
			once.Do(func() { err = a.Answer(a.Gradient) })
			return err
		})
		if err := s.links[0].PushPull(7, tensor.NewBucket(spec)).Wait(); err == nil ||
			err.Error() != "trainer0 waited 0.5 s for the answer to batch 7, bucket 0 from server9" {
			t.Errorf("an answer that stops gave %v", err)
		}
	})
}

// TestLinksLeaveNothingBehind opens and closes links and counts the remaining
// descriptors and goroutines.
func TestLinksLeaveNothingBehind(t *testing.T) {
	spec := commtest.DenseSpec(0, 1000)
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		l := linktest.Listen(t, n, "server9")
		join := func(i int) {
			purpose := fmt.Sprintf("push %d", i)
			near, err := n.Dial(l.Address(), wire.Call{From: "trainer0", To: "server9", Purpose: purpose,
				Secret: linktest.TestSecret, Timeout: linktest.Patience})
			commtest.Must(t, err)
			far, err := l.Accept(purpose, "trainer0", linktest.Patience)
			commtest.Must(t, err)
			link := newLink(near, []tensor.BucketSpec{spec}, linktest.Patience)
			port := heapPort(wire.Links{Self: "server9", Conns: []*wire.Conn{far}, Timeout: linktest.Patience},
				[]tensor.BucketSpec{spec}, true)
			served := make(chan error, 1)
			go func() { served <- port.Serve(func(a *comm.Arrival) error { return a.Answer(a.Gradient) }) }()
			commtest.Must(t, link.PushPull(0, tensor.NewBucket(spec)).Wait())
			commtest.Must(t, link.Close())
			commtest.Must(t, <-served)
			commtest.Must(t, port.Close())
		}
		for i := range 5 { // gRPC and the runtime keep some resources
			join(i)
		}
		descriptors, goroutines := held(t)
		for i := range 100 {
			join(5 + i)
		}
		var d, g int
		for range 50 { // goroutines get a moment to end
			if d, g = held(t); d <= descriptors && g <= goroutines {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Fatalf("100 links left %d descriptors instead of %d and %d goroutines instead of %d", d, descriptors, g,
			goroutines)
	})
}

// held counts the descriptors and goroutines of the process.
func held(t commtest.TB) (descriptors, goroutines int) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	commtest.Must(t, err)
	return len(files), runtime.NumGoroutine()
}

func TestServeEndsWithTheFirstError(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		specs := []tensor.BucketSpec{commtest.DenseSpec(0, 3)}
		s := newStar(t, n, 2, specs, false, linktest.Patience,
			func(*comm.Arrival) error { return errors.New("no more") })
		err := s.links[0].PushPull(0, tensor.NewBucket(specs[0])).Wait()
		var peer *comm.PeerError
		if !errors.As(err, &peer) {
			t.Errorf("the push ended with %v", err)
		}
		if err := <-s.served; err == nil || err.Error() != "no more" {
			t.Errorf("serve ended with %v", err)
		}
	})
}

func TestPortCloseIsNoError(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		s := newStar(t, n, 2, []tensor.BucketSpec{commtest.DenseSpec(0, 1)}, false, linktest.Patience,
			func(*comm.Arrival) error { return nil })
		commtest.Must(t, s.port.Close())
		commtest.Must(t, <-s.served)
	})
}
