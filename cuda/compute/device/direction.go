//go:build nvidia

package device

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/sdk"
)

// inFlight is the number of copies per direction that have their own events. A wait for an older copy instead waits
// for a later copy with the same event, which is correct but longer.
const inFlight = 1024

// direction is all copies of one direction. A stream runs them in the order of the calls, and an event after each
// copy marks its end. After open, nothing is allocated.
type direction struct {
	device *Device
	stream *driver.Stream

	mu    sync.Mutex // held while a copy is requested
	given *driver.Event
	ended [inFlight]*driver.Event  // events, indexed by copy number
	asked int64                    // number of copies requested; numbers start at 1
	from  int64                    // number of the first failed copy
	err   error                    // error of that copy and of all later copies
	taken map[driver.Pointer]taken // direction out: the last copy that begins at this address
	timer *Timer
	// For measurements: nil until Device.Measure; pass and iteration of the last copy; and that iteration's number of
	// copies.
	series     *sdk.Series
	pass, turn int64
	copies     int64

	over     atomic.Int64 // all copies up to this one have ended
	settling sync.Mutex   // held while bounced copies are completed
	bounced  [inFlight]bounce
}

// taken is a copy out: its number, its size, and how many times Compute had been called.
type taken struct {
	number, began int64
	bytes         int
}

// bounce is a copy out through pinned memory: the remaining host copy after the device is done.
type bounce struct {
	number   int64
	to, from []byte
}

func (c *direction) open(d *Device) (err error) {
	c.device, c.taken = d, make(map[driver.Pointer]taken, inFlight)
	if c.stream, err = d.context.NewStream(); err != nil {
		return err
	}
	if c.timer, err = d.NewTimer(c.stream); err != nil {
		return err
	}
	if c.given, err = d.context.NewEvent(driver.EventOptions{}); err != nil {
		return err
	}
	for i := range c.ended {
		if c.ended[i], err = d.context.NewEvent(driver.EventOptions{BlockingSync: true}); err != nil {
			return err
		}
	}
	return nil
}

// copy requests a copy and returns its number.
func (c *direction) copy(host, memory []byte) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(host) == 0 && len(memory) == 0 {
		return c.asked // complete together with the copies before
	}
	c.asked++
	if c.err == nil {
		if err := c.enqueue(host, memory); err != nil {
			c.from, c.err = c.asked, err
		}
	}
	return c.asked
}

// enqueue gives the stream a copy that waits for all earlier work of the compute stream. The event may be recorded
// again at once, because the stream waits for its state at the time of the Wait call.
func (c *direction) enqueue(host, memory []byte) error {
	if len(host) != len(memory) {
		return fmt.Errorf("%d bytes of the host and %d of engine %s cannot be copied: both numbers must be equal",
			len(host), len(memory), c.device.Name())
	}
	d := c.device
	if c == &d.out {
		c.taken[pointer(memory)] = taken{c.asked, d.began.Load(), len(memory)}
	}
	if c == &d.out || !d.out.free(memory) {
		if err := c.given.Record(d.compute.Stream); err != nil {
			return err
		}
		if err := c.stream.Wait(c.given); err != nil {
			return err
		}
	}
	if err := c.timer.Read(); err != nil { // records copies that have ended
		return err
	}
	c.timer.Begin(c.series, c.key())
	if err := c.begin(host, memory); err != nil {
		return err
	}
	c.timer.End()
	return c.ended[c.asked%inFlight].Record(c.stream)
}

// key returns the number of the copy within its iteration.
func (c *direction) key() sdk.Key {
	if pass, turn := c.device.clock.passes.Load(), c.device.clock.turns.Load(); pass != c.pass || turn != c.turn {
		c.pass, c.turn, c.copies = pass, turn, 0
	}
	c.copies++
	return sdk.Key{A: c.turn, B: c.copies - 1}
}

// read records the copies that have ended.
func (c *direction) read() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timer.Read()
}

// free reports, for the direction out, that no kernel touches memory. This holds if a copy out, requested since the
// last call of Compute, has ended. By that time, the part has emitted the data, and its later kernels in the same
// call use other memory.
func (c *direction) free(memory []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.taken[pointer(memory)]
	return known && len(memory) <= last.bytes && last.began == c.device.began.Load() && last.number <= c.over.Load()
}

func (c *direction) begin(host, memory []byte) error {
	pinned := c.device.pinned(host)
	if c == &c.device.in {
		if pinned != nil { // the copy has ended, so nothing reads the pinned memory
			copy(pinned, host)
			host = pinned
		}
		return c.stream.CopyIn(pointer(memory), unsafe.Pointer(unsafe.SliceData(host)), len(host)) // #nosec G103 -- the driver takes addresses
	}
	if pinned != nil {
		if err := c.bounce(bounce{c.asked, host, pinned}); err != nil {
			return err
		}
		host = pinned
	}
	return c.stream.CopyOut(unsafe.Pointer(unsafe.SliceData(host)), pointer(memory), len(host)) // #nosec G103 -- the driver takes addresses
}

// bounce stores the remaining work of a copy. The previous user of its slot is complete by then.
func (c *direction) bounce(b bounce) error {
	if err := c.settle(b.number - inFlight); err != nil {
		return err
	}
	c.settling.Lock()
	defer c.settling.Unlock()
	c.bounced[b.number%inFlight] = b
	return nil
}

// wait waits until a copy and all earlier copies have ended. wait holds no lock meanwhile.
func (c *direction) wait(number int64) error {
	if number <= c.over.Load() {
		return nil
	}
	c.mu.Lock()
	last, failed := number, c.err
	if failed != nil && number >= c.from {
		last = c.from - 1
	}
	c.mu.Unlock()
	if err := c.settle(last); err != nil {
		return c.fail(err)
	}
	if number > last {
		return failed
	}
	return nil
}

// fail assigns an error to the first copy that is not known to have ended, and to all later copies.
func (c *direction) fail(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.over.Load() + 1; c.err == nil || first < c.from {
		c.from, c.err = first, err
	}
	return err
}

// settle waits for the event of a copy and completes copies through pinned memory.
func (c *direction) settle(number int64) error {
	if number <= c.over.Load() {
		return nil
	}
	if err := c.ended[number%inFlight].Synchronize(); err != nil {
		return err
	}
	c.settling.Lock()
	defer c.settling.Unlock()
	for k := c.over.Load() + 1; k <= number; k++ {
		if b := &c.bounced[k%inFlight]; b.number == k {
			copy(b.to, b.from)
			*b = bounce{}
		}
		c.over.Store(k)
	}
	return nil
}

func (c *direction) close() error {
	var err error
	for _, e := range append(c.ended[:], c.given) {
		if e != nil {
			err = cmp.Or(err, e.Destroy())
		}
	}
	if c.stream != nil {
		err = cmp.Or(err, c.stream.Destroy())
	}
	return err
}
