package stream

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// stagingBytes is the number of bytes of an answer that are read at once before
// they are copied to their columns.
const stagingBytes = 64 << 10

// callOps are the frame operations of calls and their answers.
var callOps = [op.CallKinds]wire.Op{op.CallLookup: wire.OpLookup, op.CallUpdate: wire.OpUpdate}

// tableLink is a comm.TableLink over a Conn. The caller's goroutine sends, so
// it waits until the connection has accepted the frame. Another goroutine reads
// answers.
//
// A lookup sends one frame of offsets and indices; its answer is one frame of
// [bags, width] values. With n indices this takes 8*(bags+1+n) bytes to the
// server and 4*bags*width bytes back, plus a header each. An update sends one
// frame of 4*bags*width bytes, because the server knows the bags; its answer is
// a header.
type tableLink struct {
	op.Calls
	conn    *wire.Conn
	columns int       // columns of all tables
	staging []float32 // buffer for whole rows
	parts   [][]byte  // reused list of a call's payload parts
	done    chan struct{}
}

func newTableLink(conn *wire.Conn, store *comm.LookupStore, table int, timeout time.Duration) *tableLink {
	l := &tableLink{
		conn: conn, columns: store.Columns(), parts: make([][]byte, 0, store.Bags), done: make(chan struct{}),
	}
	l.Init(conn, store, table, timeout, nil)
	l.staging = make([]float32, min(store.Bags, max(1, stagingBytes/4/l.Width))*l.Width)
	go l.receive()
	return l
}

// Lookup implements comm.TableLink.
func (l *tableLink) Lookup(batch int64) *comm.Future { return l.start(op.CallLookup, batch) }

// Update implements comm.TableLink.
func (l *tableLink) Update(batch int64) *comm.Future { return l.start(op.CallUpdate, batch) }

func (l *tableLink) start(kind op.CallKind, batch int64) *comm.Future {
	l.Mu.Lock()
	call, err := l.Begin(kind, batch)
	l.Mu.Unlock()
	if err != nil {
		return comm.Completed(err)
	}
	_ = l.conn.SetReadDeadline(call.Deadline) // fails only on a closed connection, whose reads fail too
	h := wire.Header{Op: callOps[kind], Batch: batch, Arg: int64(l.Store.BagsAsked()),
		Arg2: int64(len(l.Store.BagIndices))}
	if err := l.conn.PostBy(call.Deadline, &h, l.payload(kind)...); err != nil {
		l.Fail(l.conn.ExplainSend(err, kind.Name(batch), int64(l.Timeout)))
		_ = l.conn.Close()
	}
	return call.Future()
}

// payload returns a call's payload without copying it.
func (l *tableLink) payload(kind op.CallKind) [][]byte {
	l.parts = l.parts[:0]
	switch s := l.Store; {
	case kind == op.CallLookup:
		l.parts = append(l.parts, tensor.Int64Bytes(s.BagOffsets), tensor.Int64Bytes(s.BagIndices))
	case l.Width == l.columns:
		l.parts = append(l.parts, tensor.Float32Bytes(s.Gradients[:s.BagsAsked()*l.Width]))
	default:
		for i := range s.BagsAsked() {
			l.parts = append(l.parts, tensor.Float32Bytes(l.columnsOf(s.Gradients, i)))
		}
	}
	return l.parts
}

// columnsOf returns the table's columns of bag i.
func (l *tableLink) columnsOf(values []float32, i int) []float32 {
	from := i*l.columns + l.First
	return values[from : from+l.Width]
}

func (l *tableLink) receive() {
	defer close(l.done)
	readAnswers(l.conn, &l.Life, l.readAnswer)
	_ = l.conn.Close()
	l.Finish()
}

// readAnswer reads the answer that h announces.
func (l *tableLink) readAnswer(h *wire.Header) error {
	l.Mu.Lock()
	call, kind := l.InFlight()
	pending := call != nil && h.Op == callOps[kind] && h.Batch == call.Batch
	l.Mu.Unlock()
	if !pending {
		return fmt.Errorf("%s sent operation %d of batch %d to %s, which has no such call in flight", l.Peer, h.Op,
			h.Batch, l.Self)
	}
	want := 0
	if kind == op.CallLookup {
		want = 4 * l.Store.BagsAsked() * l.Width
	}
	if h.Payload != uint64(want) {
		return fmt.Errorf("%s answered %s of %s with %d bytes instead of %d", l.Peer, kind.Name(h.Batch),
			l.Self, h.Payload, want)
	}
	if kind == op.CallLookup {
		if err := l.readColumns(); err != nil {
			return err
		}
	}
	_ = l.conn.SetReadDeadline(time.Time{}) // before the next call sets its own
	l.Complete(call)
	return nil
}

// readColumns reads the rows of an answer into the table's columns.
func (l *tableLink) readColumns() error {
	values, bags := l.Store.Values, l.Store.BagsAsked()
	if l.Width == l.columns {
		return l.conn.Fill(tensor.Float32Bytes(values[:bags*l.Width]))
	}
	for i := 0; i < bags; {
		n := min(len(l.staging)/l.Width, bags-i)
		rows := l.staging[:n*l.Width]
		if err := l.conn.Fill(tensor.Float32Bytes(rows)); err != nil {
			return err
		}
		for ; len(rows) > 0; i++ {
			copy(l.columnsOf(values, i), rows)
			rows = rows[l.Width:]
		}
	}
	return nil
}

// Close implements comm.TableLink. If a call is in flight, the call fails and
// the server sees a lost link.
func (l *tableLink) Close() error {
	err := op.Leave(l.Retire(), l.conn)
	<-l.done
	return err
}
