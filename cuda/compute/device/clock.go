//go:build nvidia

package device

import (
	"sync"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/sdk"
)

// DeviceMetric is the type of the metrics that are measured on a device.
const DeviceMetric = "device_metric"

// clock measures phases by pairs of events on the compute stream and converts them to the clock of the process.
// clock knows the process time of one event, and adds the time since that event as reported by the driver. Only the
// goroutine that gives work to the compute stream uses the clock. Measuring never waits.
type clock struct {
	lane     *Lane
	recorder *sdk.Recorder       // nil until Measure
	series   [phases]*sdk.Series // nil until the first span of the phase
	errors   *sdk.Gauge          // possible error of the times, in µs
	counts   [phases]int64       // spans of the pass, by phase
	passes   atomic.Int64        // number of passes begun; before the first, nothing is measured

	launches *sdk.Gauge   // by iteration
	begun    bool         // an iteration of the pass has begun
	before   int64        // launches of the queue when the iteration began
	turns    atomic.Int64 // iterations that have ended

	best, tried *driver.Event // events of set

	zeroed sync.Mutex    // guards the fields below, which other goroutines' timers use
	zero   *driver.Event // the event from which times count
	scale  setting       // converts times to the process's clock
	used   bool          // scale has converted times
	since  int64         // since this iteration

	spans  [inFlightSpans]span // spans with numbers from first to below next, modulo the length, are in flight
	first  int64
	next   int64
	phased [phases]int64 // number of each phase's last span; -1 if it has none
	pass   int64         // number of the last forward pass's span
	backed bool

	evaluates, evaluating bool  // the next forward pass belongs to an evaluation; the last one did
	updates               bool  // an update has begun and its step has not
	opens                 Phase // the whole that begins with the next span; 0: none
	whole                 whole // the whole that is being read
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

// Measure records the phases from now on.
func (d *Device) Measure(r *sdk.Recorder) {
	if r == nil {
		return
	}
	d.clock.recorder = r
	d.out.series, d.in.series = r.Series(DeviceMetric, "device copy out"), r.Series(DeviceMetric, "device copy in")
	d.MeasureClock(r)
	d.clock.launches = r.Gauge(DeviceMetric, "launches", "1")
}

// MeasureClock records the clock's possible error, for a part that has timers and no phases.
func (d *Device) MeasureClock(r *sdk.Recorder) {
	d.clock.errors = r.Gauge(DeviceMetric, "device clock error", "µs")
}

// BeginPass discards the phases of the previous pass and sets the clock. Nothing is measured before the first call.
// BeginPass waits for the compute stream.
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
	c.scale = newSetting(c.scale.ns, c.scale.errNS, c.scale.rate) // no times of an earlier pass are converted any more
	c.zeroed.Unlock()
	c.passes.Add(1)
	return nil
}

// set records an event several times and keeps the one with the shortest time between recording and arrival at the
// host. The event's true time differs from the middle of this interval by at most half of it. The stream has no
// other work, except before the first try, which then takes longer. set also records the possible error of the
// times under the previous setting.
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

// settingNS is the time after which the clock is set again.
const settingNS = 1e9

// KeepTime sets the clock if the last setting is old. The compute stream must be idle.
func (d *Device) KeepTime() error {
	if c := &d.clock; comm.Now()-c.scale.ns > settingNS {
		return c.set(3)
	}
	return nil
}

// EndTime sets the clock at the end of a pass, so that the error of the pass's last times is known. If the compute
// stream still works, as after a failed pass, EndTime does nothing.
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

// between returns the times of two reached events, in ns of comm.Now.
func (c *clock) between(begin, end *driver.Event) (from, to int64, err error) {
	c.zeroed.Lock()
	defer c.zeroed.Unlock()
	c.used = true
	if from, err = c.when(begin); err == nil {
		to, err = c.when(end)
	}
	return from, to, err
}

// when returns the time of a reached event, in ns of comm.Now. The caller holds c.zeroed.
func (c *clock) when(e *driver.Event) (int64, error) {
	ms, err := driver.ElapsedMS(c.zero, e)
	return c.scale.at(float64(ms) * 1e6), err
}
