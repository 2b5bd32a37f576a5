//go:build nvidia

package device

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/sdk"
)

// Phase is a piece of an iteration on the compute stream.
type Phase int

// The phases, which are series of type DeviceMetric.
const (
	Forward Phase = iota
	Loss
	Backward
	Step
	phases // how many there are
)

// DeviceMetric is the type of what is measured on a device.
const DeviceMetric = "device_metric"

var phaseNames = [phases]string{"device forward", "device loss", "device backward", "device optimizer"}

// inFlightSpans is how many spans may wait for their end. An iteration has 4, and a span is read in the
// next iteration at the latest, or by EndPass.
const inFlightSpans = 32

// clock measures phases by pairs of events on the compute stream, and says when they were on the clock of
// the process: from an event whose time there is known, by the time that the driver says has passed since.
// It serves the goroutine that gives the compute stream work. Nothing waits for it.
type clock struct {
	lane   *Lane
	series [phases]*sdk.Series // nil until Measure
	errors *sdk.Gauge          // of the first event's time, in µs
	untold bool                // errors lacks the last one: what is recorded before a pass is forgotten
	counts [phases]int64       // of the pass

	launches *sdk.Gauge // by iteration
	begun    bool       // an iteration of the pass has
	before   int64      // launches of the queue when it began
	turns    int64      // iterations that have ended

	zero   [2]*driver.Event // the first is that from which time counts
	zeroNS int64            // when it was, in ns of comm.Now, give or take errorNS
	errNS  int64

	spans  [inFlightSpans]span // those of numbers from first to below next, modulo their count, have begun
	first  int64
	next   int64
	phased [phases]int64 // the last span of each phase; -1 if it has none
	pass   int64         // the span of the last forward pass, after which a backward pass came or not
	backed bool
}

// span is a phase that is in flight.
type span struct {
	phase      Phase
	key        sdk.Key
	begin, end *driver.Event
	ended      bool
}

func (c *clock) open(d *Device) (err error) {
	c.lane = d.compute
	timing := driver.EventOptions{Timing: true}
	for i := range c.zero {
		if c.zero[i], err = d.NewEvent(timing); err != nil {
			return err
		}
	}
	for i := range c.spans {
		if c.spans[i].begin, err = d.NewEvent(timing); err != nil {
			return err
		}
		if c.spans[i].end, err = d.NewEvent(timing); err != nil {
			return err
		}
	}
	return nil
}

// Measure has the phases recorded.
func (d *Device) Measure(r *sdk.Recorder) {
	if r == nil {
		return
	}
	for p, name := range phaseNames {
		d.clock.series[p] = r.Series(DeviceMetric, name)
	}
	d.clock.errors = r.Gauge(DeviceMetric, "device clock error", "µs")
	d.clock.launches = r.Gauge(DeviceMetric, "launches", "1")
}

// BeginPass forgets the phases of the pass before, and sets the clock. It waits for the compute stream.
func (d *Device) BeginPass() error {
	c := &d.clock
	c.begun, c.turns = false, 0
	c.first, c.pass, c.backed, c.counts = c.next, c.next, true, [phases]int64{}
	if err := c.lane.Stream.Synchronize(); err != nil {
		return err
	}
	return c.set(10)
}

// set records the first event a few times and keeps the one that the host saw pass in the least time: it
// was half of that away from the middle at most. The stream has no other work.
func (c *clock) set(tries int) error {
	c.errNS = 0
	for range tries {
		before := comm.Now()
		if err := c.zero[1].Record(c.lane.Stream); err != nil {
			return err
		}
		if err := c.zero[1].Synchronize(); err != nil {
			return err
		}
		after := comm.Now()
		if half := (after - before + 1) / 2; c.errNS == 0 || half < c.errNS {
			c.zero[0], c.zero[1] = c.zero[1], c.zero[0]
			c.zeroNS, c.errNS = before+half, half
		}
	}
	c.untold = true
	return nil
}

// tell records what Read finds untold.
func (c *clock) tell() {
	if c.untold && c.errors != nil {
		c.errors.Record(sdk.Key{A: max(0, c.counts[Loss]-1)}, float64(c.errNS)/1000)
	}
	c.untold = false
}

// EndPass reads what no later iteration reads, as far as it has ended. After a pass it has, since the
// parameters were looked at. It waits for nothing.
func (d *Device) EndPass() error {
	c := &d.clock
	if c.backed {
		c.turn()
		c.begun = false
	}
	return c.read(c.ended(!c.backed))
}

// turn ends an iteration, whose launches are counted, and begins another one.
func (c *clock) turn() {
	now := c.lane.Queue.Launches()
	if c.begun && c.launches != nil {
		c.launches.Record(sdk.Key{A: c.turns}, float64(now-c.before))
		c.turns++
	}
	c.begun, c.before = true, now
}

// Begin and End go around the kernels of a phase. A phase that does not end, or whose span has no room,
// is not measured, nor are a forward pass and a loss that no backward pass follows, as in an evaluation.
func (d *Device) Begin(p Phase) {
	c := &d.clock
	switch {
	case p == Backward:
		c.backed = true
	case p == Forward && !c.backed:
		c.next = max(c.first, c.pass)
		c.counts[Forward], c.counts[Loss] = c.counts[Backward], c.counts[Backward]
		c.pass, c.before = c.next, c.lane.Queue.Launches()
	case p == Forward:
		c.turn()
		c.pass, c.backed = c.next, false
	case p == Step && c.counts[Backward] == 0: // a server's iterations are steps
		c.turn()
	}
	if c.series[p] == nil || c.next-c.first == inFlightSpans {
		c.phased[p] = -1
		return
	}
	s := &c.spans[c.next%inFlightSpans]
	s.phase, s.key, s.ended = p, sdk.Key{A: c.counts[p]}, false
	if s.begin.Record(c.lane.Stream) != nil { // which the stream's next call tells
		c.phased[p] = -1
		return
	}
	c.phased[p] = c.next
	c.next++
	c.counts[p]++
}

// End ends what Begin began.
func (d *Device) End(p Phase) {
	c := &d.clock
	if c.series[p] == nil || c.phased[p] < c.first {
		return
	}
	s := &c.spans[c.phased[p]%inFlightSpans]
	s.ended = s.end.Record(c.lane.Stream) == nil
}

// longNS is after how long the clock is set anew: the driver says what has passed as a float32 of ms, which
// then has steps of 2 µs.
const longNS = 30e9

// Read records the spans that have ended. evaluating says that a loss was computed, and nobody knows yet
// whether a backward pass follows: then it leaves that iteration's out. The compute stream has no work then,
// so that the clock may be set where that was long ago.
func (d *Device) Read(evaluating bool) error {
	c := &d.clock
	c.tell()
	if err := c.read(c.ended(evaluating)); err != nil {
		return err
	}
	if evaluating && c.series[Loss] != nil && comm.Now()-c.zeroNS > longNS {
		return c.set(1)
	}
	return nil
}

// ended is up to which span those of iterations go.
func (c *clock) ended(evaluating bool) int64 {
	if evaluating {
		return c.pass
	}
	return c.next
}

// read records the spans before end that have ended.
func (c *clock) read(end int64) error {
	for ; c.first < end; c.first++ {
		s := &c.spans[c.first%inFlightSpans]
		if !s.ended {
			continue
		}
		if over, err := s.end.Query(); err != nil || !over {
			return err
		}
		from, err := c.at(s.begin)
		if err != nil {
			return err
		}
		to, err := c.at(s.end)
		if err != nil {
			return err
		}
		c.series[s.phase].Record(s.key, from, to)
	}
	return nil
}

// at is when an event that has passed was, in ns of comm.Now.
func (c *clock) at(e *driver.Event) (int64, error) {
	ms, err := driver.ElapsedMS(c.zero[0], e)
	return c.zeroNS + int64(float64(ms)*1e6), err
}
