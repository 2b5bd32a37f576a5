//go:build nvidia

package device

import (
	"sync"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/sdk"
)

// inFlightPieces is how many pieces of a stream may wait to be read. A piece beyond this limit is not measured.
const inFlightPieces = 256

// Timer measures pieces of one stream's work by pairs of events, in the time of the process's clock. Timer never
// waits and allocates nothing. One goroutine at a time calls Begin and End; another may call Read meanwhile.
type Timer struct {
	clock  *clock
	stream *driver.Stream
	mu     sync.Mutex            // guards the fields below
	pieces [inFlightPieces]piece // pieces with numbers from first to below next, modulo the length
	first  int64
	next   int64
	open   bool // the piece before next has begun but not ended
}

// piece is work in flight. Pieces of an earlier pass are discarded.
type piece struct {
	series     *sdk.Series
	key        sdk.Key
	pass       int64
	begin, end *driver.Event
}

// NewTimer returns a timer for a stream. The device closes it.
func (d *Device) NewTimer(s *driver.Stream) (*Timer, error) {
	t := &Timer{clock: &d.clock, stream: s}
	for i := range t.pieces {
		var err error
		if t.pieces[i].begin, err = d.NewEvent(driver.EventOptions{Timing: true}); err != nil {
			return nil, err
		}
		if t.pieces[i].end, err = d.NewEvent(driver.EventOptions{Timing: true}); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Begin and End enclose the stream's work of one piece. The stream's next call reports errors of the events.
// Nothing is measured if series is nil or before the first pass.
func (t *Timer) Begin(series *sdk.Series, key sdk.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = series != nil && t.clock.passes.Load() > 0 && t.next-t.first < inFlightPieces
	if !t.open {
		return
	}
	p := &t.pieces[t.next%inFlightPieces]
	p.series, p.key, p.pass = series, key, t.clock.passes.Load()
	t.open = p.begin.Record(t.stream) == nil
}

// End ends the piece that Begin began.
func (t *Timer) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open && t.pieces[t.next%inFlightPieces].end.Record(t.stream) == nil {
		t.next++
	}
	t.open = false
}

// Read records the pieces that have ended.
func (t *Timer) Read() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ; t.first < t.next; t.first++ {
		p := &t.pieces[t.first%inFlightPieces]
		if p.pass != t.clock.passes.Load() {
			continue
		}
		if over, err := p.end.Query(); err != nil || !over {
			return err
		}
		from, to, err := t.clock.between(p.begin, p.end)
		if err != nil {
			return err
		}
		p.series.Record(p.key, from, to)
	}
	return nil
}
