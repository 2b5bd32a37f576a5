//go:build nvidia

package device

import (
	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/cuda/kernels"
)

// Lane is a stream and the queue of its kernels, for one goroutine at a time. The queue keeps its
// first error, and a part whose call returns asks for it.
type Lane struct {
	Stream *driver.Stream
	Queue  *kernels.Queue
}

// NewLane makes a lane, which lives as long as the device: for a part that gives work from other
// goroutines than the trainer's.
func (d *Device) NewLane() (*Lane, error) {
	s, err := d.context.NewStream()
	if err != nil {
		return nil, err
	}
	l := &Lane{s, d.kernels.On(s)} // which has no memory yet
	d.mu.Lock()
	d.lanes = append(d.lanes, l)
	d.mu.Unlock()
	return l, nil
}

// newTimedLane makes a lane and a timer of its stream.
func (d *Device) newTimedLane() (*Lane, *Timer, error) {
	l, err := d.NewLane()
	if err != nil {
		return nil, nil, err
	}
	t, err := d.NewTimer(l.Stream)
	return l, t, err
}
