package protocol

import (
	"time"

	"github.com/psbench/psbench/internal/comm/wire"
)

// debt is something that the part owes once it was asked for it.
type debt struct {
	due   time.Time // zero: nothing is owed
	asked wire.Header
}

// owes adds something that the part may owe.
func (l *link) owes(d *debt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.debts = append(l.debts, d)
}

// expect says that the part owes the answer to a frame from now on; mu is held.
func (l *link) expect(d *debt, asked *wire.Header) {
	d.asked, d.due = *asked, time.Now().Add(l.process.Timeout)
	if l.armed.IsZero() {
		l.arm(d.due)
	} // else something has been owed for longer
}

// owed says that something is owed.
func (l *link) owed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.armed.IsZero()
}

// came says that the part has paid; mu is held.
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

// arm sets the deadline: of reads, and of sends too, for the reader itself sends to a part that may not
// read; mu is held.
func (l *link) arm(due time.Time) {
	l.armed = due
	_ = l.conn.SetDeadline(due) // fails only once closed, and then reads fail too
}

// oldest is what has been owed for longest; mu is held.
func (l *link) oldest() (oldest *debt) {
	for _, d := range l.debts {
		if !d.due.IsZero() && (oldest == nil || d.due.Before(oldest.due)) {
			oldest = d
		}
	}
	return oldest
}
