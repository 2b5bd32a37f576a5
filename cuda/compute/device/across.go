//go:build nvidia

package device

import (
	"fmt"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/cuda/library"
)

// across is the state that all NCCL groups of a process share. The groups use one stream, in the order in which the
// trainer handed over the buckets. This order is the same on all ranks. Without a common order, the kernels of two
// communicators could reach two devices in different orders and deadlock, because a separate goroutine drives each
// group.
type across struct {
	nccl    *library.NCCL
	version string
	lane    *Lane
	timer   *Timer // measures the lane's work

	turn   sync.Mutex // held while a goroutine gives work to the lane
	mu     sync.Mutex // guards the fields below
	moved  *sync.Cond
	given  uint64 // number of buckets handed over
	taken  uint64 // number of buckets whose turn has ended
	ends   []*spanned
	failed error
}

// Across implements engine.Spanner with NCCL. The first call loads the library.
func (d *Device) Across() (comm.Spanner, error) {
	a := &d.across
	if a.nccl == nil {
		n, err := library.OpenNCCL()
		if err != nil {
			return nil, err
		}
		a.nccl, a.moved = n, sync.NewCond(&a.mu)
		if a.version, err = n.Version(); err != nil {
			return nil, err
		}
		if a.lane, a.timer, err = d.newTimedLane(); err != nil {
			return nil, err
		}
	}
	return spanner{d}, nil
}

// spanner is a device whose ends connect to ranks on other devices.
type spanner struct{ device *Device }

// Library implements comm.Spanner.
func (s spanner) Library() string { return "NCCL " + s.device.across.version }

// Join implements comm.Device. Each rank offers a name for the group; all use the first rank's name.
func (s spanner) Join(specs []tensor.BucketSpec, lent []*tensor.Bucket) (comm.DeviceEnd, error) {
	d := s.device
	e := &spanned{
		end: &end{
			device: d, specs: specs, lent: true, lane: d.across.lane, timer: d.across.timer,
			sums: make([][]float32, len(specs)), places: make([][]*Transfer[int32], len(specs)),
		},
		across: &d.across, turns: make([]uint64, len(specs)), due: make([]time.Time, len(specs)),
	}
	var err error
	if e.id, err = d.across.nccl.UniqueID(); err != nil {
		return nil, err
	}
	for range specs {
		for _, events := range []*[]*driver.Event{&e.given, &e.done} {
			event, err := d.NewEvent(driver.EventOptions{})
			if err != nil {
				return nil, err
			}
			*events = append(*events, event)
		}
	}
	if err := e.openSums(); err != nil {
		return nil, err
	}
	d.keep(e)
	d.join(e.end)
	return e, nil
}

// enlist returns the next turn.
func (a *across) enlist() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.given++
	return a.given
}

// begin waits for a turn and then for the lane.
func (a *across) begin(turn uint64) error {
	a.mu.Lock()
	for a.taken+1 != turn && a.failed == nil {
		a.moved.Wait()
	}
	err := a.failed
	a.mu.Unlock()
	if err == nil {
		a.turn.Lock()
	}
	return err
}

// end ends the current turn.
func (a *across) end() {
	a.turn.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken++
	a.moved.Broadcast()
}

// fail ends the work of all groups, because a group that hangs blocks the lane for the others. fail keeps the first
// error.
func (a *across) fail(err error) error {
	a.mu.Lock()
	if a.failed == nil {
		a.failed = err
	}
	err = a.failed
	a.moved.Broadcast()
	ends := a.ends
	a.mu.Unlock()
	var aborted sync.WaitGroup
	for _, e := range ends {
		aborted.Go(func() { _ = e.comm.Abort() }) // what failed first is reported
	}
	aborted.Wait()
	return err
}

// failure returns the first error.
func (a *across) failure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

func (a *across) close() {
	if a.nccl != nil {
		a.nccl.Close()
	}
}

// lateError returns an error that names the ranks that did not arrive in time, and the work.
func lateError(self string, others []string, what string, seconds float64) error {
	return &comm.WaitError{Waiter: self, For: others, What: what, Seconds: seconds}
}

// bucketOf returns a bucket's name for messages.
func bucketOf(spec *tensor.BucketSpec) string {
	return fmt.Sprintf("the sum of bucket %d by NCCL", spec.Index)
}
