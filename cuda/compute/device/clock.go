//go:build nvidia

package device

import (
	"sync"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/sdk"
)

// DeviceMetric is the type of what is measured on a device.
const DeviceMetric = "device_metric"

// clock measures phases by pairs of events on the compute stream, and says when they were on the clock of
// the process: from an event whose time there is known, by the time that the driver says has passed since.
// It serves the goroutine that gives the compute stream work. Nothing waits for it.
type clock struct {
	lane     *Lane
	recorder *sdk.Recorder       // nil until Measure
	series   [phases]*sdk.Series // nil until the phase is there
	errors   *sdk.Gauge          // of the first event's time, in µs
	untold   bool                // errors lacks the last one: what is recorded before a pass is forgotten
	counts   [phases]int64       // of the pass
	passes   atomic.Int64        // that have begun; before the first one there is no time

	launches *sdk.Gauge   // by iteration
	begun    bool         // an iteration of the pass has
	before   int64        // launches of the queue when it began
	turns    atomic.Int64 // iterations that have ended

	zeroed sync.Mutex       // guards what follows, which the timers of other goroutines read
	zero   [2]*driver.Event // the first is that from which time counts
	zeroNS int64            // when it was, in ns of comm.Now, give or take errNS
	errNS  int64

	spans  [inFlightSpans]span // those of numbers from first to below next, modulo their count, have begun
	first  int64
	next   int64
	phased [phases]int64 // the last span of each phase; -1 if it has none
	pass   int64         // the span of the last forward pass, after which a backward pass came or not
	backed bool

	evaluates, evaluating bool  // the next forward pass is an evaluation's; the last one was
	updates               bool  // an update has begun, whose step has not
	opens                 Phase // the whole that begins with the next span; 0 if none does
	whole                 whole // that is being read
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
	d.clock.recorder = r
	d.out.series, d.in.series = r.Series(DeviceMetric, "device copy out"), r.Series(DeviceMetric, "device copy in")
	d.MeasureClock(r)
	d.clock.launches = r.Gauge(DeviceMetric, "launches", "1")
}

// MeasureClock has what the clock may be off by recorded, for a part that has timers and no phases.
func (d *Device) MeasureClock(r *sdk.Recorder) {
	d.clock.errors = r.Gauge(DeviceMetric, "device clock error", "µs")
}

// BeginPass forgets the phases of the pass before, and sets the clock: nothing is measured before the first one.
// It waits for the compute stream.
func (d *Device) BeginPass() error {
	c := &d.clock
	c.begun = false
	c.turns.Store(0)
	c.first, c.pass, c.backed, c.counts = c.next, c.next, true, [phases]int64{}
	c.evaluates, c.evaluating, c.updates, c.opens, c.whole = false, false, false, 0, whole{}
	if err := c.set(10); err != nil {
		return err
	}
	c.passes.Add(1)
	return nil
}

// set records the first event a few times and keeps the one that the host saw pass in the least time: it
// was half of that away from the middle at most. The stream has no other work, but before the first of several
// tries, which then takes longer.
func (c *clock) set(tries int) error {
	best := int64(0)
	for range tries {
		before := comm.Now()
		if err := c.zero[1].Record(c.lane.Stream); err != nil {
			return err
		}
		if err := c.zero[1].Synchronize(); err != nil {
			return err
		}
		after := comm.Now()
		if half := (after - before + 1) / 2; best == 0 || half < best {
			best = half
			c.zeroed.Lock()
			c.zero[0], c.zero[1] = c.zero[1], c.zero[0]
			c.zeroNS, c.errNS = before+half, half
			c.zeroed.Unlock()
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

// longNS is after how long the clock is set anew: the driver says what has passed as a float32 of ms, which
// then has steps of 2 µs.
const longNS = 30e9

// KeepTime sets the clock where that was long ago. The compute stream must have no work.
func (d *Device) KeepTime() error {
	c := &d.clock
	c.tell()
	if comm.Now()-c.zeroNS <= longNS {
		return nil
	}
	return c.set(1)
}

// between is when two events that have passed were, in ns of comm.Now.
func (c *clock) between(begin, end *driver.Event) (from, to int64, err error) {
	c.zeroed.Lock()
	defer c.zeroed.Unlock()
	if from, err = c.at(begin); err == nil {
		to, err = c.at(end)
	}
	return from, to, err
}

// at is when an event that has passed was, in ns of comm.Now. c.zeroed is held.
func (c *clock) at(e *driver.Event) (int64, error) {
	ms, err := driver.ElapsedMS(c.zero[0], e)
	return c.zeroNS + int64(float64(ms)*1e6), err
}
