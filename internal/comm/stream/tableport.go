package stream

import (
	"fmt"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// tablePort is a comm.TablePort over connections. The comment of tableLink has
// the costs. Each trainer has a goroutine that receives its calls and sends
// their answers, so trainers delay each other only while a call is handled.
type tablePort struct {
	op.Port
	callers  []*op.Caller
	handling sync.Mutex
}

func newTablePort(trainers wire.Links, spec comm.LookupSpec, table int) (*tablePort, error) {
	p := &tablePort{Port: op.Port{Links: trainers}}
	bags, columns := frameBytes(&spec, table)
	joined := 0
	for _, conn := range p.Conns {
		if conn != nil {
			joined++
		}
	}
	if err := shm.ReserveTogether("the calls of all trainers of "+p.Self, float64(joined)*(bags+columns)); err != nil {
		_ = trainers.Close()
		return nil, err
	}
	for i, conn := range p.Conns {
		if conn == nil {
			p.callers = append(p.callers, nil)
			continue
		}
		c := op.NewCaller(p.Self, conn, i, &spec, table)
		c.Stride, c.Values = c.Width, make([]float32, spec.Bags*c.Width)
		p.callers = append(p.callers, c)
	}
	return p, nil
}

// Serve implements comm.TablePort. handle runs on the calling trainer's
// goroutine.
func (p *tablePort) Serve(handle func(*comm.TableCall) error) error {
	return readAll(&p.Port, func(trainer int) error { return p.read(trainer, handle) })
}

// Close implements comm.TablePort.
func (p *tablePort) Close() error {
	_, err := p.Shut()
	return err
}

// read takes the calls of one trainer until the trainer ends its link.
func (p *tablePort) read(trainer int, handle func(*comm.TableCall) error) error {
	conn, c := p.Conns[trainer], p.callers[trainer]
	var h wire.Header
	for {
		if err := conn.NextHeader(&h); err != nil {
			return conn.Explain(err, "the wait for a call", 0)
		}
		kind := op.CallLookup
		switch h.Op {
		case wire.OpBye:
			return nil
		case wire.OpLookup:
		case wire.OpUpdate:
			kind = op.CallUpdate
		default:
			return fmt.Errorf("%s sent operation %d to %s, which expects lookups and updates", conn.Peer(), h.Op,
				p.Self)
		}
		if err := p.receive(conn, c, kind, &h); err != nil {
			return conn.Explain(err, kind.Name(h.Batch), int64(p.Timeout))
		}
		if err := p.handle(c, handle); err != nil {
			return err
		}
		if err := p.answer(conn, c, kind); err != nil {
			return conn.ExplainSend(err, "the answer to "+kind.Name(c.Batch), int64(p.Timeout))
		}
	}
}

// receive reads and checks the call that starts with h.
func (p *tablePort) receive(conn *wire.Conn, c *op.Caller, kind op.CallKind, h *wire.Header) error {
	if !conn.Buffered(h.Payload) {
		_ = conn.SetReadDeadline(time.Now().Add(p.Timeout)) // fails only on a closed connection, whose reads fail too
		defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	}
	if kind == op.CallUpdate {
		if err := c.BeginUpdate(h.Batch, 0); err != nil {
			return err
		}
		values := c.Values[:c.Bags()*c.Width]
		if err := expectBytes(conn, h, 4*len(values), kind); err != nil {
			return err
		}
		err := conn.Fill(tensor.Float32Bytes(values))
		c.AtNS = comm.Now()
		return err
	}
	if err := c.MakeRoom(h.Arg, h.Arg2); err != nil {
		return err
	}
	if err := expectBytes(conn, h, 8*(len(c.Offsets)+len(c.Indices)), kind); err != nil {
		return err
	}
	if err := conn.Fill(tensor.Int64Bytes(c.Offsets)); err != nil {
		return err
	}
	if err := conn.Fill(tensor.Int64Bytes(c.Indices)); err != nil {
		return err
	}
	return c.BeginLookup(h.Batch, comm.Now())
}

// expectBytes refuses a call whose payload has another size.
func expectBytes(conn *wire.Conn, h *wire.Header, bytes int, kind op.CallKind) error {
	if h.Payload != uint64(bytes) { // #nosec G115 -- a length
		return fmt.Errorf("%s sent %d bytes as %s to %s, which expects %d", conn.Peer(), h.Payload,
			kind.Name(h.Batch), conn.Self(), bytes)
	}
	return nil
}

// handle hands over one call at a time, and no call after the port has ended.
func (p *tablePort) handle(c *op.Caller, handle func(*comm.TableCall) error) error {
	p.handling.Lock()
	defer p.handling.Unlock()
	if p.Ended() {
		return nil // sending the answer fails on the closed connection
	}
	err := handle(&c.TableCall)
	if err != nil {
		p.Fail(err)
	}
	return err
}

// answer sends the columns of a lookup, or confirms that an update is applied.
func (p *tablePort) answer(conn *wire.Conn, c *op.Caller, kind op.CallKind) error {
	h := wire.Header{Op: callOps[kind], Batch: c.Batch}
	deadline := time.Now().Add(p.Timeout)
	if kind == op.CallUpdate {
		return conn.PostBy(deadline, &h)
	}
	return conn.PostBy(deadline, &h, tensor.Float32Bytes(c.Values[:c.Bags()*c.Width]))
}
