package protocol

import (
	"time"

	"github.com/psbench/psbench/internal/comm/wire"
)

// debt is a frame that the part owes once the host has asked for it.
type debt struct {
	due   time.Time // zero if nothing is owed
	asked wire.Header
}

// owes registers a frame that the part may owe.
func (l *link) owes(d *debt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.debts = append(l.debts, d)
}

// expect records that the part owes the answer to a frame from now on. The caller holds mu.
func (l *link) expect(d *debt, asked *wire.Header) {
	d.asked, d.due = *asked, time.Now().Add(l.process.Timeout)
	if l.armed.IsZero() {
		l.arm(d.due)
	} // otherwise an older debt has set the deadline
}

// owed reports whether the part owes any frame.
func (l *link) owed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.armed.IsZero()
}

// came records that the owed frame has arrived. The caller holds mu.
func (l *link) came(d *debt) {
	due := d.due
	d.due = time.Time{}
	if !due.Equal(l.armed) {
		return
	}
	l.arm(time.Time{})
	if oldest := l.oldest(); oldest != nil {
		l.arm(oldest.due)
	}
}

// arm sets the deadline of reads and sends. Sends need a deadline too, because the reader itself
// sends, and the part may not be reading. The caller holds mu.
func (l *link) arm(due time.Time) {
	l.armed = due
	_ = l.conn.SetDeadline(due) // fails only if the connection is closed; reads then fail too
}

// oldest returns the debt with the earliest deadline. The caller holds mu.
func (l *link) oldest() (oldest *debt) {
	for _, d := range l.debts {
		if !d.due.IsZero() && (oldest == nil || d.due.Before(oldest.due)) {
			oldest = d
		}
	}
	return oldest
}
