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
var callOps = [callKinds]Op{callLookup: opLookup, callUpdate: opUpdate}

// streamTableLink is a TableLink over a Conn. The caller's goroutine sends, and so
// has to wait until the connection has taken the frame; another one reads.
//
// A lookup is one frame of the offsets and indices, its answer one of [bags, width]
// values: with n indices 8*(bags+1+n) bytes there and 4*bags*width back, and a
// header each. An update is one frame of 4*bags*width bytes, since the server knows
// the bags, and its answer a header.
type streamTableLink struct {
	tableCalls
	conn    *Conn
	columns int       // of all tables
	staging []float32 // whole rows
	parts   [][]byte  // storage of a call's payload
	done    chan struct{}
}

func newStreamTableLink(conn *Conn, store *LookupStore, table int, timeout time.Duration) *streamTableLink {
	l := &streamTableLink{
		tableCalls: newTableCalls(conn, store, table, timeout), conn: conn,
		columns: store.Columns(), parts: make([][]byte, 0, store.Bags), done: make(chan struct{}),
	}
	l.staging = make([]float32, min(store.Bags, max(1, stagingBytes/4/l.width))*l.width)
	go l.receive()
	return l
}

// Lookup implements TableLink.
func (l *streamTableLink) Lookup(batch int64) *Future { return l.start(callLookup, batch) }

// Update implements TableLink.
func (l *streamTableLink) Update(batch int64) *Future { return l.start(callUpdate, batch) }

func (l *streamTableLink) start(kind callKind, batch int64) *Future {
	l.mu.Lock()
	err := l.begin(kind, batch)
	deadline := l.deadline
	l.mu.Unlock()
	if err != nil {
		return Completed(err)
	}
	_ = l.conn.SetReadDeadline(deadline) // fails only once closed, and then reads fail too
	h := Header{Op: callOps[kind], Batch: batch, Arg: int64(l.store.bags()), Arg2: int64(len(l.store.indices))}
	if err := l.conn.sendBy(deadline, &h, l.payload(kind)...); err != nil {
		l.fail(l.conn.explainSend(err, describeCall(kind, batch), int64(l.timeout)))
		_ = l.conn.Close()
	}
	return l.futures[kind]
}

// payload is what a call sends, without a copy.
func (l *streamTableLink) payload(kind callKind) [][]byte {
	l.parts = l.parts[:0]
	switch s := l.store; {
	case kind == callLookup:
		l.parts = append(l.parts, tensor.Int64Bytes(s.offsets), tensor.Int64Bytes(s.indices))
	case l.width == l.columns:
		l.parts = append(l.parts, tensor.Float32Bytes(s.Gradients[:s.bags()*l.width]))
	default:
		for i := range s.bags() {
			l.parts = append(l.parts, tensor.Float32Bytes(l.columnsOf(s.Gradients, i)))
		}
	}
	return l.parts
}

// columnsOf is the table's columns of bag i.
func (l *streamTableLink) columnsOf(values []float32, i int) []float32 {
	from := i*l.columns + l.first
	return values[from : from+l.width]
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
			l.fail(l.conn.explain(err, l.awaited(), int64(l.timeout)))
			break
		}
	}
	_ = l.conn.Close()
	l.finish()
}

// answer reads the answer that h announces.
func (l *streamTableLink) answer(h *Header) error {
	l.mu.Lock()
	pending, kind := l.pending && h.Op == callOps[l.kind] && h.Batch == l.batch, l.kind
	l.mu.Unlock()
	if !pending {
		return fmt.Errorf("%s sent operation %d of batch %d to %s, which has no such call in flight", l.peer, h.Op, h.Batch, l.self)
	}
	want := 0
	if kind == callLookup {
		want = 4 * l.store.bags() * l.width
	}
	if h.Payload != uint64(want) {
		return fmt.Errorf("%s answered %s of %s with %d bytes instead of %d", l.peer, describeCall(kind, h.Batch), l.self, h.Payload, want)
	}
	if kind == callLookup {
		if err := l.readColumns(); err != nil {
			return err
		}
	}
	_ = l.conn.SetReadDeadline(time.Time{}) // before the next call may set its own
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end(nil, Now())
	return nil
}

// readColumns reads the rows of an answer into the table's columns.
func (l *streamTableLink) readColumns() error {
	values, bags := l.store.Values, l.store.bags()
	if l.width == l.columns {
		return l.conn.readFull(tensor.Float32Bytes(values[:bags*l.width]))
	}
	for i := 0; i < bags; {
		n := min(len(l.staging)/l.width, bags-i)
		rows := l.staging[:n*l.width]
		if err := l.conn.readFull(tensor.Float32Bytes(rows)); err != nil {
			return err
		}
		for ; len(rows) > 0; i++ {
			copy(l.columnsOf(values, i), rows)
			rows = rows[l.width:]
		}
	}
	return nil
}

// Close implements TableLink. With a call in flight, which then fails, that is no
// orderly end and the server sees a lost link.
func (l *streamTableLink) Close() error {
	if l.failIdle() {
		_ = l.conn.sendBy(time.Now().Add(byeGrace), &Header{Op: opBye})
	}
	err := l.conn.Close()
	<-l.done
	return err
}
