// Package bare is a fabric for measuring by: sockets, and inside TLS crypto/tls, that do what
// links have to do and nothing else. There are no frames, deadlines or checks, and a server
// answers with what was pushed. psbench comm takes turns between it and another transport, so
// that both have the same processes, rounds and places of gradients.
package bare

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/comm/provider"
	"github.com/psbench/psbench/internal/comm/stream"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/identity"
)

// Sockets is the fabric of bare sockets, whatever the address, and TLS that of crypto/tls on
// them, by nobody's secret. They are opened by these names.
const (
	Sockets = "bare"
	TLS     = "baretls"
)

// New makes both.
func New() ([]*fabric.Fabric, error) {
	nobody, err := identity.Of(make([]byte, wire.SecretSize), "measuring")
	if err != nil {
		return nil, err
	}
	raise := func(as func(net.Conn, *tls.Config) *tls.Conn) wire.Raise {
		return func(nc net.Conn, deadline time.Time) (net.Conn, error) {
			config := nobody.Client()
			config.DynamicRecordSizingDisabled = true
			c := as(nc, config)
			if err := c.SetDeadline(deadline); err != nil {
				return nil, err
			}
			if err := c.Handshake(); err != nil {
				return nil, err
			}
			return c, c.SetDeadline(time.Time{})
		}
	}
	open, links := wire.TCP.Insecure(), sockets{stream.Provider{}}
	return []*fabric.Fabric{
		{Name: Sockets, Network: open.Over(Sockets, nil, nil), Provider: links},
		{Name: TLS, Network: open.Over(TLS, raise(tls.Client), raise(tls.Server)), Provider: links},
	}, nil
}

// sockets has stores and peers as a stream.Provider, and none of what else that can do.
type sockets struct{ provider.Provider }

func bareOf(c *wire.Conn) net.Conn {
	nc, _ := c.Hijack()
	return nc
}

// sender writes what it is given, on a goroutine of its own, until its queue is closed: both
// parts at once.
type sender struct {
	queue  chan [2][]byte
	queued sync.WaitGroup // what is not written yet
	done   chan struct{}
}

func newSender(nc net.Conn, room int) *sender {
	s := &sender{queue: make(chan [2][]byte, room), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for parts := range s.queue {
			both := net.Buffers(parts[:])
			if _, err := both.WriteTo(nc); err != nil {
				_ = nc.Close() // so that the reader learns of it
			}
			s.queued.Done()
		}
	}()
	return s
}

func (s *sender) send(parts ...[]byte) {
	s.queued.Add(1)
	var both [2][]byte
	copy(both[:], parts)
	s.queue <- both
}

// wait waits until all is written, after which the values are the caller's again: the last block of a
// ring may be on its way to the next member when all from the previous one is there.
func (s *sender) wait() { s.queued.Wait() }

func (s *sender) close() {
	close(s.queue)
	<-s.done
}

// link pushes a bucket as its number and its values, and reads as many back.
type link struct {
	nc     net.Conn
	out    *sender
	number [64]byte // a cache line, so that copies of the values stay aligned
}

// NewServerLink implements provider.Provider.
func (sockets) NewServerLink(conn *wire.Conn, _ *comm.Store, _ time.Duration) (comm.ServerLink, error) {
	nc := bareOf(conn)
	return &link{nc: nc, out: newSender(nc, 2)}, nil
}

// PushPull implements comm.PushPuller: whoever waits reads.
func (l *link) PushPull(_ int64, b *tensor.Bucket) *comm.Future {
	values := tensor.Float32Bytes(b.Gradient.Values)
	binary.LittleEndian.PutUint64(l.number[:], uint64(b.Index)) // #nosec G115 -- an index
	l.out.send(l.number[:], values)
	return driven(func() error {
		_, err := io.ReadFull(l.nc, values)
		l.out.wait()
		return err
	})
}

// driven is the future of what the goroutine that waits for it does.
func driven(do func() error) *comm.Future {
	var p *comm.Promise
	p = comm.NewPromise(func() { p.Complete(do()) })
	p.Begin()
	return p.Future()
}

// Close implements comm.ServerLink.
func (l *link) Close() error {
	l.out.close()
	return l.nc.Close()
}

// group is a ring that hands on blocks of ringBytes as they arrive, and adds.
type group struct {
	unused
	prev, next     net.Conn
	out            *sender
	position, size int
	arrived        []float32
}

// ringElements is how many elements are handed on at once: 256 KiB.
const ringElements = 64 << 10

// NewGroup implements provider.Provider.
func (sockets) NewGroup(members wire.Links, _ []int, position int, _ *comm.Store) (comm.GroupLink, error) {
	size := len(members.Conns)
	g := &group{position: position, size: size, arrived: make([]float32, ringElements)}
	if size > 1 {
		g.next, g.prev = bareOf(members.Conns[(position+1)%size]), bareOf(members.Conns[(position+size-1)%size])
		g.out = newSender(g.next, 4096)
	}
	return g, nil
}

// AllReduce implements comm.Group, by the ring of package stream.
func (g *group) AllReduce(_ int64, b *tensor.Bucket) *comm.Future {
	if g.size == 1 {
		return comm.Completed(nil)
	}
	shard := func(i int) []float32 {
		from, to := tensor.Shard(len(b.Gradient.Values), g.size, (i%g.size+g.size)%g.size)
		return b.Gradient.Values[from:to]
	}
	for _, block := range blocks(shard(g.position)) {
		g.out.send(tensor.Float32Bytes(block))
	}
	return driven(func() error {
		for step := range 2 * (g.size - 1) {
			for _, block := range blocks(shard(g.position - step - 1)) {
				if err := g.take(block, step < g.size-1); err != nil {
					return err
				}
				if step+1 < 2*(g.size-1) {
					g.out.send(tensor.Float32Bytes(block))
				}
			}
		}
		g.out.wait()
		return nil
	})
}

func blocks(values []float32) (list [][]float32) {
	for len(values) > 0 {
		n := min(len(values), ringElements)
		list, values = append(list, values[:n]), values[n:]
	}
	return list
}

// take reads a block, or adds what it reads.
func (g *group) take(block []float32, add bool) error {
	into := block
	if add {
		into = g.arrived[:len(block)]
	}
	if _, err := io.ReadFull(g.prev, tensor.Float32Bytes(into)); err != nil {
		return err
	}
	if add {
		vec.Add(block, into)
	}
	return nil
}

// Barrier implements comm.Group, while nothing is pending: a byte goes round, on as many steps as there are others.
func (g *group) Barrier() error {
	for range g.size - 1 {
		g.out.send([]byte{0})
		if _, err := io.ReadFull(g.prev, make([]byte, 1)); err != nil {
			return err
		}
	}
	return nil
}

// Size and Position implement comm.Group.
func (g *group) Size() int     { return g.size }
func (g *group) Position() int { return g.position }

// Close implements comm.GroupLink.
func (g *group) Close() error {
	if g.size == 1 {
		return nil
	}
	g.out.close()
	return errors.Join(g.next.Close(), closed(g.prev.Close()))
}

// closed passes over that a connection is closed already: with two members both are one.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// unused are the operations of a group that nothing is compared with.
type unused struct{}

var errUnused = errors.New("bare sockets run no such operation")

func (unused) Average(int64, *tensor.Bucket) *comm.Future        { return comm.Completed(errUnused) }
func (unused) Broadcast(int64, *tensor.Bucket, int) *comm.Future { return comm.Completed(errUnused) }
func (unused) ReduceScatter(int64, *tensor.Bucket) *comm.Future  { return comm.Completed(errUnused) }
func (unused) AllGather(int64, *tensor.Bucket) *comm.Future      { return comm.Completed(errUnused) }
func (unused) AllToAll(int64, *tensor.Bucket) *comm.Future       { return comm.Completed(errUnused) }
