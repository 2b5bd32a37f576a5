//go:build nvidia

package device

import (
	"sync"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/sdk"
)

// inFlightPieces is how many pieces of a stream may wait to be read. One that finds no room is not
// measured.
const inFlightPieces = 256

// Timer measures pieces of the work of one stream by pairs of events, on the clock of the process.
// Nothing waits for it, and it allocates nothing. Begin and End serve one goroutine at a time, beside which
// another may call Read.
type Timer struct {
	clock  *clock
	stream *driver.Stream
	mu     sync.Mutex            // guards what follows
	pieces [inFlightPieces]piece // those of numbers from first to below next, modulo their count
	first  int64
	next   int64
	open   bool // the piece before next has begun and not ended
}

// piece is work that is in flight. That of an earlier pass is forgotten.
type piece struct {
	series     *sdk.Series
	key        sdk.Key
	pass       int64
	begin, end *driver.Event
}

// NewTimer makes a timer of a stream, which lives as long as the device.
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

// Begin and End go around what the stream is given for a piece. What goes wrong with the events the
// stream's next call tells. A nil series is of nobody, and before the first pass nothing is measured.
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

// End ends what Begin began.
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
