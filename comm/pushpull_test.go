package comm

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/vec"
)

// averager answers all trainers with the mean at the last arrival.
type averager struct {
	mu       sync.Mutex
	trainers int
	arrivals map[int][]*Arrival
	means    map[int]*Gradient
	merger   *RowMerger
}

func newAverager(trainers int, specs []BucketSpec) *averager {
	s := &averager{trainers: trainers, arrivals: map[int][]*Arrival{}, means: map[int]*Gradient{}, merger: NewRowMerger(trainers)}
	for _, spec := range specs {
		s.arrivals[spec.Index] = make([]*Arrival, 0, trainers)
		g := NewGradient(spec)
		s.means[spec.Index] = &g
	}
	return s
}

func (s *averager) handle(a *Arrival) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending := append(s.arrivals[a.Bucket], a)
	s.arrivals[a.Bucket] = pending
	if len(pending) < s.trainers {
		return nil
	}
	s.arrivals[a.Bucket] = pending[:0]
	mean := s.means[a.Bucket]
	if mean.Sparse() {
		s.merger.Reset()
		for _, a := range pending {
			s.merger.Add(a.Gradient)
		}
		if err := s.merger.Sum(mean); err != nil {
			return err
		}
	} else {
		copy(mean.Values, pending[0].Gradient.Values)
		for _, a := range pending[1:] {
			vec.Add(mean.Values, a.Gradient.Values)
		}
	}
	vec.Scale(1/float32(s.trainers), mean.Values)
	for _, a := range pending {
		if err := a.Answer(mean); err != nil {
			return err
		}
	}
	return nil
}

// star is a server with its trainers' links.
type star struct {
	links  []*ServerLink
	port   *ServerPort
	served chan error
}

func newStar(t tb, trainers int, specs []BucketSpec, timeout time.Duration, handle func(*Arrival) error) *star {
	t.Helper()
	s := &star{served: make(chan error, 1)}
	var ports []*Conn
	for i := range trainers {
		near, far := link(t, name(i), "server9")
		s.links = append(s.links, NewServerLink(near, specs, timeout))
		ports = append(ports, far)
	}
	s.port = NewServerPort("server9", ports, specs, timeout)
	go func() { s.served <- s.port.Serve(handle) }()
	t.Cleanup(func() {
		for _, l := range s.links {
			_ = l.Close()
		}
		_ = s.port.Close()
	})
	return s
}

func TestPushPullAverages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trainers := rapid.IntRange(1, 4).Draw(t, "trainers")
		specs := []BucketSpec{
			denseSpec(0, rapid.IntRange(0, 5000).Draw(t, "elements")),
			sparseSpec(1, 40, rapid.IntRange(1, 20).Draw(t, "width"), 40),
		}
		s := newStar(t, trainers, specs, patience, newAverager(trainers, specs).handle)
		for batch := range int64(3) {
			for _, spec := range specs {
				var buckets []*Bucket
				for range trainers {
					b := NewBucket(spec)
					fill(t, spec, &b.Gradient, 10)
					buckets = append(buckets, b)
				}
				want := sum(spec, buckets)
				for i := range want {
					want[i] /= float64(trainers)
				}
				var futures []*Future
				for i, b := range buckets {
					futures = append(futures, s.links[i].PushPull(batch, b))
				}
				for i, f := range futures {
					must(t, f.Wait())
					requireSame(t, &buckets[i].Gradient, &buckets[0].Gradient)
				}
				requireNear(t, table(spec, &buckets[0].Gradient), want)
			}
		}
		for _, l := range s.links {
			must(t, l.Close())
		}
		must(t, <-s.served)
	})
}

func TestAnswersComeInAnyOrder(t *testing.T) {
	specs := []BucketSpec{denseSpec(0, 3), denseSpec(7, 5)}
	var first *Arrival
	s := newStar(t, 1, specs, patience, func(a *Arrival) error {
		if a.AtNS > Now() || a.Trainer != 0 || a.Batch != 2 {
			return fmt.Errorf("a strange arrival: %+v", a)
		}
		if first == nil {
			first = a
			return nil
		}
		return errors.Join(a.Answer(a.Gradient), first.Answer(first.Gradient))
	})
	f, g := s.links[0].PushPull(2, NewBucket(specs[0])), s.links[0].PushPull(2, NewBucket(specs[1]))
	must(t, f.Wait())
	must(t, g.Wait())
	if f.EndNS() < g.EndNS() {
		t.Fatal("bucket 0 was done before bucket 7, which was answered first")
	}
}

func TestPushPullRefusesMisuse(t *testing.T) {
	specs := []BucketSpec{denseSpec(0, 3), sparseSpec(1, 4, 1, 2)}
	arrived := make(chan *Arrival, 1)
	unsorted := NewBucket(specs[1])
	unsorted.Gradient.Rows, unsorted.Gradient.Values = []int32{2, 1}, make([]float32, 2)
	s := newStar(t, 1, specs, patience, func(a *Arrival) error { arrived <- a; return nil })
	l, b := s.links[0], NewBucket(specs[0])
	f := l.PushPull(0, b)
	for want, err := range map[string]error{
		"while batch 0 of that bucket is in flight": l.PushPull(1, b).Wait(),
		"does not carry bucket 5":                   l.PushPull(1, NewBucket(denseSpec(5, 3))).Wait(),
		"has 4 elements instead of 3":               l.PushPull(1, NewBucket(denseSpec(0, 4))).Wait(),
		"row 1 at place 1, not above row 2":         l.PushPull(1, unsorted).Wait(),
		"has width 2 instead of 0":                  l.PushPull(1, NewBucket(sparseSpec(0, 3, 2, 3))).Wait(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("misuse gave %v, want %q", err, want)
		}
	}
	a := <-arrived
	wrong := NewGradient(denseSpec(0, 2))
	if err := a.Answer(&wrong); err == nil {
		t.Error("an answer of the wrong size gave no error")
	}
	must(t, a.Answer(a.Gradient))
	if err := a.Answer(a.Gradient); err == nil || !strings.Contains(err.Error(), "no push of it in flight") {
		t.Errorf("a second answer gave %v", err)
	}
	must(t, f.Wait())
	must(t, l.Close())
	must(t, l.Close())
	if err := l.PushPull(1, b).Wait(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("pushing to a closed link gave %v", err)
	}
	must(t, <-s.served)
}

func TestPushPullDeadlineNamesTheServer(t *testing.T) {
	specs := []BucketSpec{denseSpec(0, 3), denseSpec(1, 3)}
	s := newStar(t, 1, specs, 50*time.Millisecond, func(*Arrival) error { return nil })
	f, g := s.links[0].PushPull(3, NewBucket(specs[0])), s.links[0].PushPull(3, NewBucket(specs[1]))
	for _, err := range []error{f.Wait(), g.Wait()} {
		var wait *WaitError
		if !errors.As(err, &wait) || err.Error() != "trainer0 waited 0.05 s for the answer to batch 3, bucket 0 from server9" {
			t.Errorf("the deadline gave %v", err)
		}
	}
	if err := <-s.served; err == nil {
		t.Error("the server did not notice")
	}
}

func TestBlockedPushEndsAtTheDeadline(t *testing.T) {
	near, far := link(t, "trainer0", "server9")
	defer func() { _ = far.Close() }()
	l := NewServerLink(near, []BucketSpec{denseSpec(0, 8<<20)}, 50*time.Millisecond)
	defer func() { _ = l.Close() }()
	var wait *WaitError
	if err := l.PushPull(3, NewBucket(denseSpec(0, 8<<20))).Wait(); !errors.As(err, &wait) || wait.For[0] != "server9" || !strings.Contains(wait.What, "batch 3, bucket 0") {
		t.Fatalf("a push that nobody reads gave %v", err)
	}
}

func TestBlockedAnswerEndsAtTheDeadline(t *testing.T) {
	near, far := link(t, "trainer0", "server9")
	spec := denseSpec(0, 1<<20)
	p := NewServerPort("server9", []*Conn{far}, []BucketSpec{spec}, 50*time.Millisecond)
	served := make(chan error, 1)
	go func() { served <- p.Serve(func(a *Arrival) error { return a.Answer(a.Gradient) }) }()
	b := NewBucket(spec)
	must(t, near.Send(&Header{Op: opPush, Batch: 4}, Float32Bytes(b.Gradient.Values)))
	var wait *WaitError
	if err := <-served; !errors.As(err, &wait) || wait.For[0] != "trainer0" || !strings.Contains(wait.What, "the answer to batch 4, bucket 0") {
		t.Fatalf("an answer that nobody reads gave %v", err)
	}
}

func TestDeathOfThePeer(t *testing.T) {
	specs := []BucketSpec{denseSpec(0, 3)}
	arrived := make(chan *Arrival, 2)
	s := newStar(t, 2, specs, patience, func(a *Arrival) error { arrived <- a; return nil })
	f := s.links[0].PushPull(0, NewBucket(specs[0]))
	<-arrived
	start := time.Now()
	_ = s.links[1].conn.Close() // trainer1 dies without a goodbye
	var peer *PeerError
	if err := <-s.served; !errors.As(err, &peer) || peer.Peer != "trainer1" {
		t.Fatalf("the server ended with %v", err)
	}
	if err := f.Wait(); !errors.As(err, &peer) || peer.Peer != "server9" || !strings.Contains(err.Error(), "the answer to batch 0, bucket 0") {
		t.Fatalf("the pending push ended with %v", err)
	}
	if err := s.links[0].PushPull(1, NewBucket(specs[0])).Wait(); !errors.As(err, &peer) {
		t.Fatalf("a later push ended with %v", err)
	}
	if took := time.Since(start); took > time.Second {
		t.Fatalf("noticing took %v", took)
	}
}

func TestServeEndsWithTheFirstError(t *testing.T) {
	specs := []BucketSpec{denseSpec(0, 3)}
	s := newStar(t, 2, specs, patience, func(*Arrival) error { return errors.New("no more") })
	err := s.links[0].PushPull(0, NewBucket(specs[0])).Wait()
	var peer *PeerError
	if !errors.As(err, &peer) {
		t.Errorf("the push ended with %v", err)
	}
	if err := <-s.served; err == nil || err.Error() != "no more" {
		t.Errorf("serve ended with %v", err)
	}
}

func TestServerPortRefusesBadFrames(t *testing.T) {
	specs := []BucketSpec{denseSpec(0, 2), sparseSpec(1, 10, 1, 3)}
	values := Float32Bytes(make([]float32, 2))
	rows := func(r ...int32) []byte { return Int32Bytes(r) }
	for want, send := range map[string]func(c *Conn) error{
		"which does not serve it":             func(c *Conn) error { return c.Send(&Header{Op: opPush, Bucket: -1}) },
		"sent operation 64":                   func(c *Conn) error { return c.Send(&Header{Op: OpUser}) },
		"sent 4 bytes of bucket 0":            func(c *Conn) error { return c.Send(&Header{Op: opPush}, values[:4]) },
		"of -1 rows":                          func(c *Conn) error { return c.Send(&Header{Op: opPush, Bucket: 1, Rows: -1}) },
		"of 4 rows does not fit":              func(c *Conn) error { return c.Send(&Header{Op: opPush, Bucket: 1, Rows: 4}) },
		"row 3 at place 1, not above row 3":   func(c *Conn) error { return c.Send(&Header{Op: opPush, Bucket: 1, Rows: 2}, rows(3, 3), values) },
		"row 10 outside its table of 10 rows": func(c *Conn) error { return c.Send(&Header{Op: opPush, Bucket: 1, Rows: 2}, rows(3, 10), values) },
		"before batch 0 of that bucket was answered": func(c *Conn) error {
			return errors.Join(c.Send(&Header{Op: opPush}, values), c.Send(&Header{Op: opPush, Batch: 1}, values))
		},
	} {
		near, far := link(t, "trainer0", "server9")
		p := NewServerPort("server9", []*Conn{far}, specs, patience)
		must(t, send(near))
		if err := p.Serve(func(*Arrival) error { return nil }); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "trainer0") {
			t.Errorf("serve ended with %v, want %q", err, want)
		}
	}
}

func TestServerLinkRefusesStrayAnswers(t *testing.T) {
	near, far := link(t, "trainer0", "server9")
	l := NewServerLink(near, []BucketSpec{denseSpec(0, 1)}, patience)
	defer func() { _ = l.Close() }()
	must(t, far.Send(&Header{Op: opAnswer, Batch: 8}, make([]byte, 4)))
	must(t, far.SetReadDeadline(time.Now().Add(patience)))
	_ = far.ReadHeader(&Header{}) // returns when the link hangs up
	if err := l.PushPull(0, NewBucket(denseSpec(0, 1))).Wait(); err == nil || !strings.Contains(err.Error(), "no such push in flight") {
		t.Fatalf("a stray answer gave %v", err)
	}
}

func TestPortCloseIsNoError(t *testing.T) {
	s := newStar(t, 2, []BucketSpec{denseSpec(0, 1)}, patience, func(*Arrival) error { return nil })
	must(t, s.port.Close())
	must(t, <-s.served)
}
