package serverlink

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// tablePort is a comm.TablePort through shared memory.
type tablePort struct {
	server
	spec    comm.LookupSpec
	table   int
	callers []*tableCaller
}

// tableCaller is the port's state for one of its trainers.
type tableCaller struct {
	*op.Caller
	control *shm.Segment
	memory  *comm.LookupStore       // the trainer's lookup store
	columns [op.CallKinds][]float32 // the memory of each kind of call, from the table's first column on
	line    *layout.CallLine
	bell    shm.Bell
	seen    uint32 // sequence of the last call that was handed over
}

// NewTablePort makes the port of a table's server, which works in the trainers'
// stores. table is the table's index in spec.
func NewTablePort(trainers wire.Links, spec comm.LookupSpec, table int) (comm.TablePort, error) {
	if err := spec.CheckTable(table); err != nil {
		return nil, op.RefuseTablePort(trainers, err)
	}
	return newTablePort(trainers, spec, table)
}

func newTablePort(trainers wire.Links, spec comm.LookupSpec, table int) (*tablePort, error) {
	p := &tablePort{spec: spec, table: table}
	p.server = server{Port: op.Port{Links: trainers}, slots: p, awaits: "a call"}
	if err := p.open(); err != nil {
		p.unmap()
		return nil, err
	}
	return p, nil
}

// admit implements slots. admit receives a trainer's segments.
func (p *tablePort) admit(i int, conn *wire.Conn) (err error) {
	c := &tableCaller{Caller: op.NewCaller(p.Self, conn, i, &p.spec, p.table)}
	p.callers = append(p.callers, c)
	if c.control, err = conn.ReceiveSegment(layout.CallControlBytes(), false); err != nil {
		return err
	}
	segment, err := conn.ReceiveSegment(layout.LookupBytes(&p.spec), false)
	if err != nil {
		return err
	}
	c.memory = layout.ViewLookups(conn.Peer(), segment, p.spec)
	first := p.spec.FirstColumn(p.table)
	c.Stride, c.columns = p.spec.Columns(), [op.CallKinds][]float32{c.memory.Values[first:], c.memory.Gradients[first:]}
	c.line, c.bell = layout.CallLineOf(c.control), layout.BellOf(c.control)
	return nil
}

// agree implements slots. There is nothing more to negotiate.
func (*tablePort) agree(int, *wire.Conn) error { return nil }

// filled implements slots.
func (p *tablePort) filled() bool {
	for _, c := range p.callers {
		if c.line.Posted.Load() != c.seen {
			return true
		}
	}
	return false
}

// Serve implements comm.TablePort. handle runs on the calling goroutine.
func (p *tablePort) Serve(handle func(*comm.TableCall) error) error {
	return p.serve(func() (int, error) { return p.dispatch(handle) })
}

// dispatch hands over every call that has arrived, and answers it.
func (p *tablePort) dispatch(handle func(*comm.TableCall) error) (calls int, err error) {
	for _, c := range p.callers {
		posted := c.line.Posted.Load()
		if posted == c.seen {
			continue
		}
		if err := c.validate(posted); err != nil {
			return calls, err
		}
		if err := handle(&c.TableCall); err != nil {
			return calls, err
		}
		c.line.AnswerNS = comm.Now()
		c.line.Answered.Store(posted)
		c.bell.Ring()
		calls++
	}
	return calls, nil
}

// validate checks a trainer's data on its call before any code relies on the
// data.
func (c *tableCaller) validate(posted uint32) error {
	line := c.line
	kind, batch, atNS := op.CallKind(line.Kind), line.Batch, line.PostedNS
	switch {
	case posted != c.seen+1:
		return fmt.Errorf("%s posted call %d to %s where call %d is due", c.Peer, posted, c.Self, c.seen+1)
	case kind < 0 || kind >= op.CallKinds:
		return fmt.Errorf("%s posted a call of kind %d to %s, which does not exist", c.Peer, kind, c.Self)
	}
	c.seen, c.Values = posted, c.columns[kind]
	if kind == op.CallUpdate {
		return c.BeginUpdate(batch, atNS)
	}
	if err := c.MakeRoom(line.Bags, line.Indices); err != nil {
		return err
	}
	copy(c.Offsets, c.memory.BagOffsets[:len(c.Offsets)])
	copy(c.Indices, c.memory.BagIndices[:len(c.Indices)])
	return c.BeginLookup(batch, atNS)
}

// Close implements comm.TablePort.
func (p *tablePort) Close() error {
	if p.shut() {
		p.unmap()
	}
	return nil
}

func (p *tablePort) unmap() {
	for _, c := range p.callers {
		if c.control != nil {
			_ = c.control.Close()
		}
		if c.memory != nil {
			_ = c.memory.Close()
		}
	}
	if p.doorbell != nil {
		_ = p.doorbell.Close()
	}
}
