//go:build nvidia

package device

import (
	"errors"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// Sum implements comm.DeviceEnd: the first part becomes the sum, and all others copies of it. Of T parts
// of n elements 4(T+1)n bytes are moved, and 8(T-1)n.
func (e *end) Sum(bucket int, parts [][]float32, mean bool) error {
	if err := e.take(bucket); err != nil {
		return err
	}
	q := e.lane.Queue
	if mean {
		q.Mean(parts[0], parts)
	} else {
		q.Sum(parts[0], parts)
	}
	for _, p := range parts[1:] {
		q.Copy(p, parts[0])
	}
	return e.mark(bucket)
}

// SumRows implements comm.DeviceEnd. Where the rows are in the union the host finds out; that is all
// that it sends to the device.
func (e *end) SumRows(bucket int, gradients []*tensor.Gradient, union []int32, mean bool) error {
	if err := e.take(bucket); err != nil {
		return err
	}
	q, width := e.lane.Queue, e.specs[bucket].Width
	sum := e.sums[bucket][:len(union)*width]
	q.Clear(sum)
	for i, g := range gradients {
		places, err := Locate(e.places[bucket][i], g.Rows, union)
		if err != nil {
			return err
		}
		q.ScatterRows(1, g.Values, sum, width, places)
	}
	if mean {
		q.Scale(1/float32(len(gradients)), sum)
	}
	return e.mark(bucket)
}

// TakeRows implements comm.DeviceEnd. No peer reads the bucket any more once it has made its sum.
func (e *end) TakeRows(bucket int, sum []float32) error {
	for _, p := range e.peers {
		if err := e.lane.Stream.Wait(p.done[bucket]); err != nil {
			return err
		}
	}
	if err := e.measure(bucket); err != nil {
		return err
	}
	e.lane.Queue.Copy(sum, e.sums[bucket][:len(sum)])
	e.timer.End()
	return e.lane.Queue.Err()
}

// take has the lane wait for the bucket of every rank, and begins to measure what it does then.
func (e *end) take(bucket int) error {
	for _, p := range e.peers {
		if err := e.lane.Stream.Wait(p.given[bucket]); err != nil {
			return err
		}
	}
	if err := e.lane.Stream.Wait(e.given[bucket]); err != nil {
		return err
	}
	return e.measure(bucket)
}

// measure begins a piece of a bucket's sum, under the iteration in which that was handed over, and records those
// that have ended.
func (e *end) measure(bucket int) error {
	if err := e.timer.Read(); err != nil {
		return err
	}
	e.timer.Begin(e.series, sdk.Key{A: e.within[bucket], B: int64(e.specs[bucket].Index)})
	return nil
}

// readSums records the pieces of sums that have ended.
func (d *Device) readSums() (err error) {
	for _, e := range d.ends {
		if e.timer != nil {
			err = errors.Join(err, e.timer.Read())
		}
	}
	return err
}

// mark marks what the lane has done with the bucket.
func (e *end) mark(bucket int) error {
	if err := e.lane.Queue.Err(); err != nil {
		return err
	}
	e.timer.End()
	return e.done[bucket].Record(e.lane.Stream)
}
