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
	PortLife
	callers  []*TableCaller
	handling sync.Mutex
}

func newStreamTablePort(trainers Links, spec LookupSpec, table int) (*streamTablePort, error) {
	p := &streamTablePort{PortLife: PortLife{Links: trainers}}
	bags, columns := frameBytes(&spec, table)
	if err := shm.ReserveTogether("the calls of all trainers of "+p.Self, float64(len(p.Conns))*(bags+columns)); err != nil {
		_ = trainers.Close()
		return nil, err
	}
	for i, conn := range p.Conns {
		c := NewTableCaller(p.Self, conn, i, &spec, table)
		c.Stride, c.Values = c.Width, make([]float32, spec.Bags*c.Width)
		p.callers = append(p.callers, c)
	}
	return p, nil
}

// Serve implements TablePort. handle runs on a goroutine of the trainer that calls.
func (p *streamTablePort) Serve(handle func(*TableCall) error) error {
	return readAll(&p.PortLife, func(trainer int) error { return p.read(trainer, handle) })
}

// Close implements TablePort.
func (p *streamTablePort) Close() error {
	_, err := p.Shut()
	return err
}

// read takes the calls of one trainer until its goodbye.
func (p *streamTablePort) read(trainer int, handle func(*TableCall) error) error {
	conn, c := p.Conns[trainer], p.callers[trainer]
	var h Header
	for {
		if err := conn.readHeader(&h); err != nil {
			return conn.explain(err, "the wait for a call", 0)
		}
		kind := CallLookup
		switch h.Op {
		case opBye:
			return nil
		case opLookup:
		case opUpdate:
			kind = CallUpdate
		default:
			return fmt.Errorf("%s sent operation %d to %s, which expects lookups and updates", conn.Peer(), h.Op, p.Self)
		}
		if err := p.receive(conn, c, kind, &h); err != nil {
			return conn.explain(err, DescribeCall(kind, h.Batch), int64(p.Timeout))
		}
		if err := p.handle(c, handle); err != nil {
			return err
		}
		if err := p.answer(conn, c, kind); err != nil {
			return conn.explainSend(err, "the answer to "+DescribeCall(kind, c.Batch), int64(p.Timeout))
		}
	}
}

// receive reads and checks the call that h starts.
func (p *streamTablePort) receive(conn *Conn, c *TableCaller, kind CallKind, h *Header) error {
	if !conn.buffered(h.Payload) {
		_ = conn.SetReadDeadline(time.Now().Add(p.Timeout)) // fails only once closed, and then reads fail too
		defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	}
	if kind == CallUpdate {
		if err := c.TakeUpdate(h.Batch, 0); err != nil {
			return err
		}
		values := c.Values[:c.Bags()*c.Width]
		if err := expect(conn, h, 4*len(values), kind); err != nil {
			return err
		}
		err := conn.readFull(tensor.Float32Bytes(values))
		c.AtNS = Now()
		return err
	}
	if err := c.MakeRoom(h.Arg, h.Arg2); err != nil {
		return err
	}
	if err := expect(conn, h, 8*(len(c.Offsets)+len(c.Indices)), kind); err != nil {
		return err
	}
	if err := conn.readFull(tensor.Int64Bytes(c.Offsets)); err != nil {
		return err
	}
	if err := conn.readFull(tensor.Int64Bytes(c.Indices)); err != nil {
		return err
	}
	return c.TakeLookup(h.Batch, Now())
}

// expect refuses a call of another size.
func expect(conn *Conn, h *Header, bytes int, kind CallKind) error {
	if h.Payload != uint64(bytes) { // #nosec G115 -- a length
		return fmt.Errorf("%s sent %d bytes as %s to %s, which expects %d", conn.Peer(), h.Payload, DescribeCall(kind, h.Batch), conn.Self(), bytes)
	}
	return nil
}

// handle hands over one call at a time, and none once the port has ended.
func (p *streamTablePort) handle(c *TableCaller, handle func(*TableCall) error) error {
	p.handling.Lock()
	defer p.handling.Unlock()
	if p.Ended() {
		return nil // the answer will find its connection closed
	}
	err := handle(&c.TableCall)
	if err != nil {
		p.Fail(err)
	}
	return err
}

// answer sends the columns of a lookup, or that an update is applied.
func (p *streamTablePort) answer(conn *Conn, c *TableCaller, kind CallKind) error {
	h := Header{Op: callOps[kind], Batch: c.Batch}
	deadline := time.Now().Add(p.Timeout)
	if kind == CallUpdate {
		return conn.sendBy(deadline, &h)
	}
	return conn.sendBy(deadline, &h, tensor.Float32Bytes(c.Values[:c.Bags()*c.Width]))
}
