//go:build nvidia

package device

import (
	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/cuda/kernels"
)

// Lane is a stream and the queue of its kernels, for one goroutine at a time. The queue keeps its first error. A
// part checks for this error before its method returns.
type Lane struct {
	Stream *driver.Stream
	Queue  *kernels.Queue
}

// NewLane returns a lane, for a part that launches work from goroutines other than the trainer's. The device closes
// it.
func (d *Device) NewLane() (*Lane, error) {
	s, err := d.context.NewStream()
	if err != nil {
		return nil, err
	}
	l := &Lane{s, d.kernels.On(s)} // the lane has no memory yet
	d.mu.Lock()
	d.lanes = append(d.lanes, l)
	d.mu.Unlock()
	return l, nil
}

// newTimedLane returns a lane and a timer for its stream.
func (d *Device) newTimedLane() (*Lane, *Timer, error) {
	l, err := d.NewLane()
	if err != nil {
		return nil, nil, err
	}
	t, err := d.NewTimer(l.Stream)
	return l, t, err
}
