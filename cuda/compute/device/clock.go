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
	errors   *sdk.Gauge          // by how much times may be off, in µs
	counts   [phases]int64       // of the pass
	passes   atomic.Int64        // that have begun; before the first one there is no time

	launches *sdk.Gauge   // by iteration
	begun    bool         // an iteration of the pass has
	before   int64        // launches of the queue when it began
	turns    atomic.Int64 // iterations that have ended

	best, tried *driver.Event // of set

	zeroed sync.Mutex    // guards what follows, which the timers of other goroutines use
	zero   *driver.Event // from which time counts
	scale  setting       // by which times are told
	used   bool          // times have been told by it,
	since  int64         // from this iteration on

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
	for _, e := range []**driver.Event{&c.zero, &c.best, &c.tried} {
		if *e, err = d.NewEvent(timing); err != nil {
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
	c.zeroed.Lock()
	c.scale = newSetting(c.scale.ns, c.scale.errNS, c.scale.rate) // since no times of an earlier pass are told any more
	c.zeroed.Unlock()
	c.passes.Add(1)
	return nil
}

// set records an event a few times and keeps the one that the host saw pass in the least time: it was half of that
// away from the middle at most. The stream has no other work, but before the first of several tries, which then takes
// longer. By how much times may be off that the setting before has told is recorded.
func (c *clock) set(tries int) error {
	var ns, half int64
	for try := range tries {
		before := comm.Now()
		if err := c.tried.Record(c.lane.Stream); err != nil {
			return err
		}
		if err := c.tried.Synchronize(); err != nil {
			return err
		}
		after := comm.Now()
		if h := (after - before + 1) / 2; try == 0 || h < half {
			ns, half = before+h, h
			c.best, c.tried = c.tried, c.best
		}
	}
	c.zeroed.Lock()
	defer c.zeroed.Unlock()
	if c.scale.rate == 0 {
		c.scale = newSetting(ns, half, 1)
	} else {
		ms, err := driver.ElapsedMS(c.zero, c.best)
		if err != nil {
			return err
		}
		var offNS int64
		if c.scale, offNS = c.scale.next(ns, half, float64(ms)*1e6); c.used && c.errors != nil {
			c.errors.Record(sdk.Key{A: c.since}, float64(offNS)/1000)
		}
	}
	c.zero, c.best = c.best, c.zero
	c.used, c.since = false, max(0, c.counts[Loss]-1)
	return nil
}

// settingNS is after how long the clock is set anew.
const settingNS = 1e9

// KeepTime sets the clock where that was long ago. The compute stream must have no work.
func (d *Device) KeepTime() error {
	if c := &d.clock; comm.Now()-c.scale.ns > settingNS {
		return c.set(3)
	}
	return nil
}

// EndTime sets the clock at the end of a pass, so that by how much its last times may be off is known, too. Where
// the compute stream is at work still, as in a pass that failed, it does nothing.
func (d *Device) EndTime() error {
	c := &d.clock
	c.zeroed.Lock()
	used := c.used
	c.zeroed.Unlock()
	if !used {
		return nil
	}
	if idle, err := c.lane.Stream.Query(); err != nil || !idle {
		return err
	}
	return c.set(3)
}

// between is when two events that have passed were, in ns of comm.Now.
func (c *clock) between(begin, end *driver.Event) (from, to int64, err error) {
	c.zeroed.Lock()
	defer c.zeroed.Unlock()
	c.used = true
	if from, err = c.when(begin); err == nil {
		to, err = c.when(end)
	}
	return from, to, err
}

// when is when an event that has passed was, in ns of comm.Now. c.zeroed is held.
func (c *clock) when(e *driver.Event) (int64, error) {
	ms, err := driver.ElapsedMS(c.zero, e)
	return c.scale.at(float64(ms) * 1e6), err
}
