// Package bare is a baseline transport for measurements, over plain sockets or
// over crypto/tls. A bare link does only what a link must do. It has no frames,
// deadlines or checks, and its server answers with the pushed values. psbench
// comm alternates between bare and another transport. Both thus run in the same
// processes, with the same rounds and the same memory for gradients.
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

// Sockets names the fabric of plain sockets, which uses no TLS on any address.
// TLS names the fabric of crypto/tls over sockets; its key protects nothing.
const (
	Sockets = "bare"
	TLS     = "baretls"
)

// New makes both fabrics.
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

// sockets has the stores and peers of stream.Provider, but none of its optional
// abilities.
type sockets struct{ provider.Provider }

func bareOf(c *wire.Conn) net.Conn {
	nc, _ := c.Hijack()
	return nc
}

// sender writes queued data on its own goroutine until the queue is closed.
// Each entry has two parts, which one call writes.
type sender struct {
	queue  chan [2][]byte
	queued sync.WaitGroup // entries not written yet
	done   chan struct{}
}

func newSender(nc net.Conn, room int) *sender {
	s := &sender{queue: make(chan [2][]byte, room), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for parts := range s.queue {
			both := net.Buffers(parts[:])
			if _, err := both.WriteTo(nc); err != nil {
				_ = nc.Close() // wakes the reader with an error
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

// wait waits until everything is written; then the caller may change the
// values. The last block of a ring may still be in transit to the next member
// when all blocks from the previous member have arrived.
func (s *sender) wait() { s.queued.Wait() }

func (s *sender) close() {
	close(s.queue)
	<-s.done
}

// link pushes a bucket as its number and values, and reads the same number of
// values back.
type link struct {
	nc     net.Conn
	out    *sender
	number [64]byte // one cache line, so that copies of the values stay aligned
}

// NewServerLink implements provider.Provider.
func (sockets) NewServerLink(conn *wire.Conn, _ *comm.Store, _ time.Duration) (comm.ServerLink, error) {
	nc := bareOf(conn)
	return &link{nc: nc, out: newSender(nc, 2)}, nil
}

// PushPull implements comm.PushPuller. The goroutine that waits reads the
// answer.
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

// driven returns a future whose waiter runs do.
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

// group is a ring. Each member adds blocks of ringElements as they arrive and
// passes them on.
type group struct {
	unused
	prev, next     net.Conn
	out            *sender
	position, size int
	arrived        []float32
}

// ringElements is the number of elements in one block of the ring: 256 KiB.
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

// AllReduce implements comm.Group with the same ring algorithm as package
// stream.
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

// take reads a block from the previous member. With add set, take adds the
// values to the block; otherwise take overwrites the block.
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

// Barrier implements comm.Group, provided that nothing is pending. Each member
// passes a byte on, once for every other member.
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

// closed ignores the error of a connection that is closed already. With two
// members, next and prev are the same connection.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// unused has the group operations that psbench does not compare with a
// baseline.
type unused struct{}

var errUnused = errors.New("bare sockets do not support this operation")

func (unused) Average(int64, *tensor.Bucket) *comm.Future        { return comm.Completed(errUnused) }
func (unused) Broadcast(int64, *tensor.Bucket, int) *comm.Future { return comm.Completed(errUnused) }
func (unused) ReduceScatter(int64, *tensor.Bucket) *comm.Future  { return comm.Completed(errUnused) }
func (unused) AllGather(int64, *tensor.Bucket) *comm.Future      { return comm.Completed(errUnused) }
func (unused) AllToAll(int64, *tensor.Bucket) *comm.Future       { return comm.Completed(errUnused) }
