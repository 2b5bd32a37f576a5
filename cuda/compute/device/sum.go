//go:build nvidia

package device

import (
	"errors"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// Sum implements comm.DeviceEnd. The first part becomes the sum and is then copied to all others. T parts of n
// elements move 4(T+1)n bytes for the sum and 8(T-1)n bytes for the copies.
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

// SumRows implements comm.DeviceEnd. The host computes the positions of the rows in the union; it sends nothing
// else to the device.
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

// TakeRows implements comm.DeviceEnd. Each peer has made its own sum by then and no longer reads the bucket.
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

// take makes the lane wait for the bucket of every rank, and starts to measure the following work.
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

// measure begins the measurement of a bucket's sum, under the iteration in which the bucket was handed over.
// measure also records earlier measurements that have ended.
func (e *end) measure(bucket int) error {
	if err := e.timer.Read(); err != nil {
		return err
	}
	e.timer.Begin(e.series, sdk.Key{A: e.within[bucket], B: int64(e.specs[bucket].Index)})
	return nil
}

// readSums records the measurements of sums that have ended.
func (d *Device) readSums() (err error) {
	for _, e := range d.ends {
		if e.timer != nil {
			err = errors.Join(err, e.timer.Read())
		}
	}
	return err
}

// mark records that the lane has finished its work on the bucket.
func (e *end) mark(bucket int) error {
	if err := e.lane.Queue.Err(); err != nil {
		return err
	}
	e.timer.End()
	return e.done[bucket].Record(e.lane.Stream)
}
