package comm

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm/tensor"
)

// stagingBytes is how much of an answer is read at once on its way to the columns
// that it belongs to.
const stagingBytes = 64 << 10

// callOps are the operations of the frames of a call and of its answer.
var callOps = [CallKinds]Op{CallLookup: opLookup, CallUpdate: opUpdate}

// streamTableLink is a TableLink over a Conn. The caller's goroutine sends, and so
// has to wait until the connection has taken the frame; another one reads.
//
// A lookup is one frame of the offsets and indices, its answer one of [bags, width]
// values: with n indices 8*(bags+1+n) bytes there and 4*bags*width back, and a
// header each. An update is one frame of 4*bags*width bytes, since the server knows
// the bags, and its answer a header.
type streamTableLink struct {
	Calls
	conn    *Conn
	columns int       // of all tables
	staging []float32 // whole rows
	parts   [][]byte  // storage of a call's payload
	done    chan struct{}
}

func newStreamTableLink(conn *Conn, store *LookupStore, table int, timeout time.Duration) *streamTableLink {
	l := &streamTableLink{
		conn: conn, columns: store.Columns(), parts: make([][]byte, 0, store.Bags), done: make(chan struct{}),
	}
	l.Init(conn, store, table, timeout, nil)
	l.staging = make([]float32, min(store.Bags, max(1, stagingBytes/4/l.Width))*l.Width)
	go l.receive()
	return l
}

// Lookup implements TableLink.
func (l *streamTableLink) Lookup(batch int64) *Future { return l.start(CallLookup, batch) }

// Update implements TableLink.
func (l *streamTableLink) Update(batch int64) *Future { return l.start(CallUpdate, batch) }

func (l *streamTableLink) start(kind CallKind, batch int64) *Future {
	l.Mu.Lock()
	call, err := l.Begin(kind, batch)
	l.Mu.Unlock()
	if err != nil {
		return Completed(err)
	}
	_ = l.conn.SetReadDeadline(call.Deadline) // fails only once closed, and then reads fail too
	h := Header{Op: callOps[kind], Batch: batch, Arg: int64(l.Store.BagsAsked()), Arg2: int64(len(l.Store.BagIndices))}
	if err := l.conn.sendBy(call.Deadline, &h, l.payload(kind)...); err != nil {
		l.Fail(l.conn.explainSend(err, DescribeCall(kind, batch), int64(l.Timeout)))
		_ = l.conn.Close()
	}
	return call.Future()
}

// payload is what a call sends, without a copy.
func (l *streamTableLink) payload(kind CallKind) [][]byte {
	l.parts = l.parts[:0]
	switch s := l.Store; {
	case kind == CallLookup:
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

// columnsOf is the table's columns of bag i.
func (l *streamTableLink) columnsOf(values []float32, i int) []float32 {
	from := i*l.columns + l.First
	return values[from : from+l.Width]
}

func (l *streamTableLink) receive() {
	defer close(l.done)
	var h Header
	for {
		err := l.conn.readHeader(&h)
		if err == nil {
			err = l.answer(&h)
		}
		if err != nil {
			l.Fail(l.conn.explain(err, l.Awaited(), int64(l.Timeout)))
			break
		}
	}
	_ = l.conn.Close()
	l.Finish()
}

// answer reads the answer that h announces.
func (l *streamTableLink) answer(h *Header) error {
	l.Mu.Lock()
	call, kind := l.InFlight()
	pending := call != nil && h.Op == callOps[kind] && h.Batch == call.Batch
	l.Mu.Unlock()
	if !pending {
		return fmt.Errorf("%s sent operation %d of batch %d to %s, which has no such call in flight", l.Peer, h.Op, h.Batch, l.Self)
	}
	want := 0
	if kind == CallLookup {
		want = 4 * l.Store.BagsAsked() * l.Width
	}
	if h.Payload != uint64(want) {
		return fmt.Errorf("%s answered %s of %s with %d bytes instead of %d", l.Peer, DescribeCall(kind, h.Batch), l.Self, h.Payload, want)
	}
	if kind == CallLookup {
		if err := l.readColumns(); err != nil {
			return err
		}
	}
	_ = l.conn.SetReadDeadline(time.Time{}) // before the next call may set its own
	l.Complete(call)
	return nil
}

// readColumns reads the rows of an answer into the table's columns.
func (l *streamTableLink) readColumns() error {
	values, bags := l.Store.Values, l.Store.BagsAsked()
	if l.Width == l.columns {
		return l.conn.readFull(tensor.Float32Bytes(values[:bags*l.Width]))
	}
	for i := 0; i < bags; {
		n := min(len(l.staging)/l.Width, bags-i)
		rows := l.staging[:n*l.Width]
		if err := l.conn.readFull(tensor.Float32Bytes(rows)); err != nil {
			return err
		}
		for ; len(rows) > 0; i++ {
			copy(l.columnsOf(values, i), rows)
			rows = rows[l.Width:]
		}
	}
	return nil
}

// Close implements TableLink. With a call in flight, which then fails, that is no
// orderly end and the server sees a lost link.
func (l *streamTableLink) Close() error {
	if l.Retire() {
		_ = l.conn.sendBy(time.Now().Add(ByeGrace), &Header{Op: opBye})
	}
	err := l.conn.Close()
	<-l.done
	return err
}
