package serverlink

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/wire"
)

// tableLink is a comm.TableLink through shared memory. For a call, the trainer
// stores into its slot and checks the server's bell. The server works in the
// trainer's LookupStore.
type tableLink struct {
	op.Calls
	client client
	line   *layout.CallLine
	seq    atomic.Uint32 // sequence of the last call
}

// NewTableLink joins a table's server, which works in the store. table is the
// table's index in store.Tables.
func NewTableLink(
	conn *wire.Conn, store *comm.LookupStore, table int, timeout time.Duration,
) (comm.TableLink, error) {
	if err := store.CheckTable(table); err != nil {
		return nil, op.RefuseTableLink(conn, err)
	}
	return newTableLink(conn, store, table, timeout)
}

func newTableLink(conn *wire.Conn, store *comm.LookupStore, table int, timeout time.Duration) (*tableLink, error) {
	l := &tableLink{}
	l.client = client{Life: &l.Life, link: l, conn: conn}
	l.Init(conn, store, table, timeout, func(kind op.CallKind) func() {
		return func() { l.client.await(l.Call(kind), answer{l}) }
	})
	if err := l.open(); err != nil {
		l.client.unmap()
		_ = conn.Close()
		return nil, err
	}
	l.line = layout.CallLineOf(l.client.control)
	l.client.start()
	return l, nil
}

// answer is a shm.Condition: the last call is answered, or the link has ended.
type answer struct{ l *tableLink }

func (a answer) Met() bool { return a.l.line.Answered.Load() == a.l.seq.Load() || a.l.Ended() }

// open sends the store to the server and receives the server's doorbell.
func (l *tableLink) open() error {
	if l.Store.Segment == nil {
		return fmt.Errorf("%s cannot share its lookups with %s: they are not in shared memory", l.Self, l.Peer)
	}
	return l.client.open(layout.CallControlBytes(), l.Store.Segment)
}

// Lookup implements comm.TableLink.
func (l *tableLink) Lookup(batch int64) *comm.Future { return l.start(op.CallLookup, batch) }

// Update implements comm.TableLink.
func (l *tableLink) Update(batch int64) *comm.Future { return l.start(op.CallUpdate, batch) }

func (l *tableLink) start(kind op.CallKind, batch int64) *comm.Future {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.reapLocked() // the last answer may have had no waiter
	call, err := l.Begin(kind, batch)
	if err != nil {
		return comm.Completed(err)
	}
	line := l.line
	line.Kind, line.Batch = int32(kind), batch
	line.Bags, line.Indices = int64(l.Store.BagsAsked()), int64(len(l.Store.BagIndices))
	line.PostedNS = comm.Now()
	line.Posted.Store(l.seq.Add(1))
	l.client.server.Ring()
	return call.Future()
}

// reap completes the call if its answer has arrived, with the server's time
// stamp.
func (l *tableLink) reap() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.reapLocked()
}

func (l *tableLink) reapLocked() {
	if call, _ := l.InFlight(); call != nil && l.Err() == nil && l.line.Answered.Load() == l.seq.Load() {
		l.End(call, nil, l.line.AnswerNS)
	}
}

// Close implements comm.TableLink. Closing again does nothing.
func (l *tableLink) Close() error { return l.client.Close() }
