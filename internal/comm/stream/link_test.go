package stream

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
)

// star is a server and the links of its trainers.
type star struct {
	links  []*link
	port   *port
	served chan error
}

func newStar(t commtest.TB, n *wire.Network, trainers int, specs []tensor.BucketSpec, chunked bool,
	timeout time.Duration, handle func(*comm.Arrival) error) *star {
	t.Helper()
	s := &star{served: make(chan error, 1)}
	var ports []*wire.Conn
	for i := range trainers {
		near, far := linktest.Link(t, n, linktest.Name(i), "server9")
		s.links = append(s.links, newLink(near, specs, timeout))
		ports = append(ports, far)
	}
	s.port = heapPort(wire.Links{Self: "server9", Conns: ports, Timeout: timeout}, specs, chunked)
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
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		rapid.Check(t, func(t *rapid.T) {
			trainers := rapid.IntRange(1, 4).Draw(t, "trainers")
			checkAverages(t, n, trainers, rapid.Bool().Draw(t, "chunked"),
				func(b *tensor.Bucket) { commtest.Fill(t, b.BucketSpec, &b.Gradient, 10) },
				commtest.DenseSpec(0, rapid.IntRange(0, 5000).Draw(t, "elements")),
				commtest.SparseSpec(1, 40, rapid.IntRange(1, 20).Draw(t, "width"), 40))
		})
	})
}

func TestPushPullAveragesChunks(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		for _, elements := range []int{comm.ChunkElements, comm.ChunkElements + 1, 3*comm.ChunkElements - 1} {
			for _, chunked := range []bool{false, true} {
				seed := uint32(0)
				checkAverages(t, n, 2, chunked,
					func(b *tensor.Bucket) { seed++; commtest.Noise(seed, b.Gradient.Values) },
					commtest.DenseSpec(0, elements))
			}
		}
	})
}

// checkAverages makes trainers push buckets from fill, checks the averages, and
// closes the links in order.
func checkAverages(t commtest.TB, n *wire.Network, trainers int, chunked bool, fill func(b *tensor.Bucket),
	specs ...tensor.BucketSpec) {
	t.Helper()
	s := newStar(t, n, trainers, specs, chunked, linktest.Patience, linktest.NewAverager(trainers, specs).Handle)
	linktest.RequireMeans(t, s.links, specs, 3, func(_, k int) *tensor.Bucket {
		b := tensor.NewBucket(specs[k])
		fill(b)
		return b
	})
	for _, l := range s.links {
		commtest.Must(t, l.Close())
	}
	commtest.Must(t, <-s.served)
}

// Pushes come chunk by chunk. Pushes come whole if the server's host has more
// trainers than its cores can serve at once.
func TestPushesComeWhole(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		onHost := n.Name() != "grpc" && !linktest.Secured(n)
		specs := []tensor.BucketSpec{commtest.DenseSpec(0, 3*comm.ChunkElements)}
		for _, trainers := range []int{1, runtime.NumCPU()/2 + 1} {
			links := wire.Links{Self: "server9", Timeout: linktest.Patience}
			for i := range trainers {
				_, far := linktest.Link(t, n, fmt.Sprint("trainer", i), links.Self)
				links.Conns = append(links.Conns, far)
			}
			want := 3
			if onHost && 2*trainers > runtime.NumCPU() {
				want = 1
			}
			p, err := Provider{}.NewPort(links, specs, true)
			commtest.Must(t, err)
			for trainer, slots := range p.(*port).slots {
				if got := len(slots[0].arrivals); got != want {
					t.Errorf("of %d trainers a push of trainer%d comes as %d, want %d", trainers, trainer, got, want)
				}
			}
			commtest.Must(t, p.Close())
		}
		_, far := linktest.Link(t, n, "trainer0", "server9")
		for cores, conns := range map[int][]*wire.Conn{1: {far}, 2: {far, far}, 3: {far, nil}, 4: {far, far}} {
			if got, want := crowded(conns, cores), cores < 3 && onHost; got != want {
				t.Errorf("%d connections, %d cores: crowded is %v, want %v", len(conns), cores, got, want)
			}
		}
	})
}

// TestChunksAreAnsweredOneByOne has a trainer that sends its second chunk only
// after the answer to the first.
func TestChunksAreAnsweredOneByOne(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		spec := commtest.DenseSpec(0, comm.ChunkElements+3)
		near, far := linktest.Link(t, n, "trainer0", "server9")
		p := heapPort(wire.Links{Self: "server9", Conns: []*wire.Conn{far}, Timeout: linktest.Patience},
			[]tensor.BucketSpec{spec}, true)
		served := make(chan error, 1)
		arrivals := 0
		go func() {
			served <- p.Serve(func(a *comm.Arrival) error {
				want := min(comm.ChunkElements, spec.Elements-arrivals*comm.ChunkElements)
				if a.Chunk != arrivals || a.Chunks != 2 || a.Batch != 5 || len(a.Gradient.Values) != want {
					return fmt.Errorf("a strange arrival: chunk %d of %d with %d elements", a.Chunk, a.Chunks,
						len(a.Gradient.Values))
				}
				arrivals++
				vec.Scale(2, a.Gradient.Values)
				return a.Answer(a.Gradient)
			})
		}()
		b := tensor.NewBucket(spec)
		for i := range b.Gradient.Values {
			b.Gradient.Values[i] = float32(i)
		}
		commtest.Must(t, near.SetReadDeadline(time.Now().Add(linktest.Patience)))
		for k := range 2 {
			g := chunkOf(&b.Gradient, k)
			h := chunkHeader(wire.OpPush, 5, 0, k, &g)
			commtest.Must(t, near.Send(&h, tensor.Float32Bytes(g.Values)))
			var answer wire.Header
			commtest.Must(t, near.ReadHeader(&answer))
			if want := (wire.Header{Op: wire.OpAnswer, Batch: 5, Arg: h.Arg, Payload: h.Payload,
				Sequence: answer.Sequence, Link: answer.Link}); answer != want {
				t.Fatalf("chunk %d was answered with %+v, want %+v", k, answer, want)
			}
			commtest.Must(t, near.ReadFull(tensor.Float32Bytes(g.Values)))
		}
		for i, v := range b.Gradient.Values {
			if v != float32(2*i) {
				t.Fatalf("element %d is %g, want %d", i, v, 2*i)
			}
		}
		commtest.Must(t, near.Send(&wire.Header{Op: wire.OpBye}))
		commtest.Must(t, <-served)
		commtest.Must(t, p.Close())
	})
}

// TestPushingAgainAtOnce pushes as soon as an answer has arrived, which is
// often before Answer returns.
func TestPushingAgainAtOnce(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		for _, chunked := range []bool{false, true} {
			specs := []tensor.BucketSpec{commtest.DenseSpec(0, comm.ChunkElements+1), commtest.DenseSpec(1, 1)}
			s := newStar(t, n, 2, specs, chunked, linktest.Patience, linktest.NewAverager(2, specs).Handle)
			p := linktest.NewTogether(2, func(rank int) error {
				buckets := []*tensor.Bucket{tensor.NewBucket(specs[0]), tensor.NewBucket(specs[1])}
				for batch := range int64(20) {
					for _, f := range []*comm.Future{s.links[rank].PushPull(batch, buckets[0]),
						s.links[rank].PushPull(batch, buckets[1])} {
						if err := f.Wait(); err != nil {
							return err
						}
					}
				}
				return nil
			})
			p.Round(t)
			p.Close()
		}
	})
}

func TestAnswersComeInAnyOrder(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		specs := []tensor.BucketSpec{commtest.DenseSpec(0, 3), commtest.DenseSpec(7, 5)}
		var first *comm.Arrival
		s := newStar(t, n, 1, specs, false, linktest.Patience, func(a *comm.Arrival) error {
			if a.AtNS > comm.Now() || a.Trainer != 0 || a.Batch != 2 {
				return fmt.Errorf("a strange arrival: %+v", a)
			}
			if first == nil {
				first = a
				return nil
			}
			return errors.Join(a.Answer(a.Gradient), first.Answer(first.Gradient))
		})
		f, g := s.links[0].PushPull(2, tensor.NewBucket(specs[0])), s.links[0].PushPull(2, tensor.NewBucket(specs[1]))
		commtest.Must(t, f.Wait())
		commtest.Must(t, g.Wait())
		if f.EndNS() < g.EndNS() {
			t.Fatal("bucket 0 was done before bucket 7, which was answered first")
		}
	})
}

func TestPushPullRefusesMisuse(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		specs := []tensor.BucketSpec{commtest.DenseSpec(0, 3), commtest.SparseSpec(1, 4, 1, 2)}
		arrived := make(chan *comm.Arrival, 1)
		unsorted := tensor.NewBucket(specs[1])
		unsorted.Gradient.Rows, unsorted.Gradient.Values = []int32{2, 1}, make([]float32, 2)
		s := newStar(t, n, 1, specs, false, linktest.Patience, func(a *comm.Arrival) error { arrived <- a; return nil })
		l, b := s.links[0], tensor.NewBucket(specs[0])
		f := l.PushPull(0, b)
		for want, err := range map[string]error{
			"while batch 0 of that bucket is in flight": l.PushPull(1, b).Wait(),
			"does not carry bucket 5": l.PushPull(1,
				tensor.NewBucket(commtest.DenseSpec(5, 3))).Wait(),
			"has 4 elements instead of 3": l.PushPull(1,
				tensor.NewBucket(commtest.DenseSpec(0, 4))).Wait(),
			"row 1 at place 1, which is not above row 2 before it": l.PushPull(1, unsorted).Wait(),
			"has width 2 instead of 0": l.PushPull(1,
				tensor.NewBucket(commtest.SparseSpec(0, 3, 2, 3))).Wait(),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("misuse gave %v, want %q", err, want)
			}
		}
		a := <-arrived
		wrong := tensor.NewGradient(commtest.DenseSpec(0, 2))
		if err := a.Answer(&wrong); err == nil {
			t.Error("an answer of the wrong size gave no error")
		}
		commtest.Must(t, a.Answer(a.Gradient))
		if err := a.Answer(a.Gradient); err == nil || !strings.Contains(err.Error(), "no push of it in flight") {
			t.Errorf("a second answer gave %v", err)
		}
		commtest.Must(t, f.Wait())
		commtest.Must(t, l.Close())
		commtest.Must(t, l.Close())
		if err := l.PushPull(1, b).Wait(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("pushing to a closed link gave %v", err)
		}
		commtest.Must(t, <-s.served)
	})
}

// heapPort is newPort with stores on the heap.
func heapPort(trainers wire.Links, specs []tensor.BucketSpec, chunked bool) *port {
	var stores []*comm.Store
	for range trainers.Conns {
		stores = append(stores, comm.NewStore(specs))
	}
	return newPort(trainers, stores, specs, chunked)
}
