package comm

import (
	"fmt"
	"sync"
	"time"

	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
)

// streamTablePort is a TablePort over connections. The costs are in the comment of
// streamTableLink. Each trainer's goroutine receives its calls and sends their
// answers, so that only the handling of one trainer's call delays another's.
type streamTablePort struct {
	streamServer
	callers  []*tableCaller
	handling sync.Mutex
}

func newStreamTablePort(trainers Links, spec LookupSpec, table int) (*streamTablePort, error) {
	p := &streamTablePort{streamServer: streamServer{Links: trainers}}
	bags, columns := frameBytes(&spec, table)
	if err := shm.ReserveTogether("the calls of all trainers of "+p.Self, float64(len(p.Conns))*(bags+columns)); err != nil {
		_ = p.Links.Close()
		return nil, err
	}
	for i, conn := range p.Conns {
		c := newTableCaller(p.Self, conn, i, &spec, table)
		c.stride, c.values = c.width, make([]float32, spec.Bags*c.width)
		p.callers = append(p.callers, c)
	}
	return p, nil
}

// Serve implements TablePort. handle runs on a goroutine of the trainer that calls.
func (p *streamTablePort) Serve(handle func(*TableCall) error) error {
	return p.serve(func(trainer int) error { return p.read(trainer, handle) })
}

// read takes the calls of one trainer until its goodbye.
func (p *streamTablePort) read(trainer int, handle func(*TableCall) error) error {
	conn, c := p.Conns[trainer], p.callers[trainer]
	var h Header
	for {
		if err := conn.readHeader(&h); err != nil {
			return conn.explain(err, "the wait for a call", 0)
		}
		kind := callLookup
		switch h.Op {
		case opBye:
			return nil
		case opLookup:
		case opUpdate:
			kind = callUpdate
		default:
			return fmt.Errorf("%s sent operation %d to %s, which expects lookups and updates", conn.peer, h.Op, p.Self)
		}
		if err := p.receive(conn, c, kind, &h); err != nil {
			return conn.explain(err, describeCall(kind, h.Batch), int64(p.Timeout))
		}
		if err := p.handle(c, handle); err != nil {
			return err
		}
		if err := p.answer(conn, c, kind); err != nil {
			return conn.explainSend(err, "the answer to "+describeCall(kind, c.Batch), int64(p.Timeout))
		}
	}
}

// receive reads and checks the call that h starts.
func (p *streamTablePort) receive(conn *Conn, c *tableCaller, kind callKind, h *Header) error {
	if !conn.buffered(h.Payload) {
		_ = conn.SetReadDeadline(time.Now().Add(p.Timeout)) // fails only once closed, and then reads fail too
		defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	}
	if kind == callUpdate {
		if err := c.update(h.Batch, 0); err != nil {
			return err
		}
		values := c.values[:c.Bags()*c.width]
		if err := conn.expect(h, 4*len(values), kind); err != nil {
			return err
		}
		err := conn.readFull(tensor.Float32Bytes(values))
		c.AtNS = Now()
		return err
	}
	if err := c.room(h.Arg, h.Arg2); err != nil {
		return err
	}
	if err := conn.expect(h, 8*(len(c.Offsets)+len(c.Indices)), kind); err != nil {
		return err
	}
	if err := conn.readFull(tensor.Int64Bytes(c.Offsets)); err != nil {
		return err
	}
	if err := conn.readFull(tensor.Int64Bytes(c.Indices)); err != nil {
		return err
	}
	return c.lookup(h.Batch, Now())
}

// expect refuses a call of another size.
func (c *Conn) expect(h *Header, bytes int, kind callKind) error {
	if h.Payload != uint64(bytes) { // #nosec G115 -- a length
		return fmt.Errorf("%s sent %d bytes as %s to %s, which expects %d", c.peer, h.Payload, describeCall(kind, h.Batch), c.self, bytes)
	}
	return nil
}

// handle hands over one call at a time, and none once the port has ended.
func (p *streamTablePort) handle(c *tableCaller, handle func(*TableCall) error) error {
	p.handling.Lock()
	defer p.handling.Unlock()
	if p.ended() {
		return nil // the answer will find its connection closed
	}
	err := handle(&c.TableCall)
	if err != nil {
		p.fail(err)
	}
	return err
}

// answer sends the columns of a lookup, or that an update is applied.
func (p *streamTablePort) answer(conn *Conn, c *tableCaller, kind callKind) error {
	h := Header{Op: callOps[kind], Batch: c.Batch}
	deadline := time.Now().Add(p.Timeout)
	if kind == callUpdate {
		return conn.sendBy(deadline, &h)
	}
	return conn.sendBy(deadline, &h, tensor.Float32Bytes(c.values[:c.Bags()*c.width]))
}
