//go:build nvidia

package device

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/library"
)

// spanned is a comm.SpanningEnd. The sums are NCCL all-reduces of whole buckets. spanned uses events like end, but
// only within this process: the lane waits for given before it reduces a bucket, and AwaitShared makes the compute
// stream wait for the lane's work so far. The all-reduce waits for the peers on the device, where it may hang. A
// goroutine checks that it ends in time.
type spanned struct {
	*end
	across *across
	id     [128]byte
	turns  []uint64 // by bucket: number of its turn
	comm   *library.Communicator

	self    string
	others  []string
	timeout time.Duration

	dueMu    sync.Mutex
	due      []time.Time // by bucket: deadline of its reduction; zero once reduced
	quit     chan struct{}
	watching sync.WaitGroup
	closing  sync.Once
}

// watch is the interval between checks of a group.
const watch = 50 * time.Millisecond

// Offer implements comm.DeviceEnd.
func (e *spanned) Offer() []byte { return e.id[:] }

// Import implements comm.DeviceEnd.
func (e *spanned) Import(position int, offer []byte) ([][]float32, error) {
	if len(offer) != len(e.id) {
		return nil, fmt.Errorf("the name of a group of NCCL has %d bytes, but is offered with %d", len(e.id),
			len(offer))
	}
	if position == 0 {
		copy(e.id[:], offer)
	}
	return nil, nil
}

// Span implements comm.SpanningEnd.
func (e *spanned) Span(members []string, position int, timeout time.Duration) (err error) {
	e.self, e.timeout = members[position], timeout
	e.others = slices.Delete(slices.Clone(members), position, position+1)
	e.comm, err = e.across.nccl.Join(e.device.context, e.id, len(members), position, time.Now().Add(timeout))
	if err != nil {
		return e.late(err, "a group of NCCL")
	}
	a := e.across
	a.mu.Lock()
	a.ends = append(slices.Clone(a.ends), e)
	a.mu.Unlock()
	e.quit = make(chan struct{})
	e.watching.Go(e.watch)
	return nil
}

// late adds the names of the missing ranks to a timeout error.
func (e *spanned) late(err error, what string) error {
	if errors.Is(err, library.ErrLate) {
		return lateError(e.self, e.others, what, e.timeout.Seconds())
	}
	return err
}

// watch fails all groups of the device if NCCL reports a failure or a reduction is not done in time.
func (e *spanned) watch() {
	for tick := time.NewTicker(watch); ; {
		select {
		case <-e.quit:
			tick.Stop()
			return
		case <-tick.C:
		}
		err := e.comm.Err()
		if err == nil {
			err = e.overdue()
		}
		if err != nil {
			_ = e.across.fail(err) // the next call of Sum returns the error
			return
		}
	}
}

// overdue returns an error that names a bucket not reduced in time.
func (e *spanned) overdue() error {
	e.dueMu.Lock()
	defer e.dueMu.Unlock()
	for i := range e.due {
		if e.due[i].IsZero() || time.Now().Before(e.due[i]) {
			continue
		}
		reached, err := e.done[i].Query()
		if err != nil {
			return err
		}
		if !reached {
			return lateError(e.self, e.others, bucketOf(&e.specs[i]), e.timeout.Seconds())
		}
		e.due[i] = time.Time{}
	}
	return nil
}

// Give implements comm.DeviceEnd.
func (e *spanned) Give(bucket int) error {
	if err := e.across.failure(); err != nil {
		return err
	}
	e.turns[bucket] = e.across.enlist()
	return e.end.Give(bucket)
}

// Sum implements comm.DeviceEnd.
func (e *spanned) Sum(bucket int, parts [][]float32, mean bool) error {
	if err := e.across.begin(e.turns[bucket]); err != nil {
		return err
	}
	defer e.across.end()
	if err := e.take(bucket); err != nil {
		return err
	}
	return e.reduce(bucket, parts[0], mean)
}

// SumRows implements comm.DeviceEnd. Each rank arranges its rows in the order of the union, with zeros for rows
// that it lacks. With U rows in the union, this is one all-reduce of U rows, and the order of the ranks' rows does
// not matter.
func (e *spanned) SumRows(bucket int, gradients []*tensor.Gradient, union []int32, mean bool) error {
	if err := e.across.begin(e.turns[bucket]); err != nil {
		return err
	}
	defer e.across.end()
	if err := e.take(bucket); err != nil {
		return err
	}
	q, own, width := e.lane.Queue, gradients[0], e.specs[bucket].Width
	sum := e.sums[bucket][:len(union)*width]
	q.Clear(sum)
	places, err := Locate(e.places[bucket][0], own.Rows, union)
	if err != nil {
		return err
	}
	q.ScatterRows(1, own.Values, sum, width, places)
	if err := q.Err(); err != nil {
		return err
	}
	return e.reduce(bucket, sum, mean)
}

// TakeRows implements comm.DeviceEnd.
func (e *spanned) TakeRows(bucket int, sum []float32) error {
	e.across.turn.Lock()
	defer e.across.turn.Unlock()
	return e.end.TakeRows(bucket, sum)
}

// reduce gives the lane an in-place all-reduce.
func (e *spanned) reduce(bucket int, values []float32, mean bool) error {
	operation := library.Sum
	if mean {
		operation = library.Average
	}
	until := time.Now().Add(e.timeout)
	at := pointer(tensor.Float32Bytes(values))
	if err := e.comm.AllReduce(e.lane.Stream, at, at, len(values), operation, until); err != nil {
		return e.across.fail(e.late(err, bucketOf(&e.specs[bucket])))
	}
	if err := e.mark(bucket); err != nil {
		return err
	}
	e.dueMu.Lock()
	defer e.dueMu.Unlock()
	e.due[bucket] = until
	return nil
}

// Abort implements comm.SpanningEnd.
func (e *spanned) Abort() { _ = e.across.fail(library.ErrAborted) }

// Close implements comm.DeviceEnd. On leaving the group, it waits for the end of its work, up to the timeout.
func (e *spanned) Close() (err error) {
	e.closing.Do(func() { err = e.leave() })
	return err
}

func (e *spanned) leave() error {
	if e.comm == nil {
		return nil
	}
	close(e.quit)
	e.watching.Wait()
	switch failed := e.across.failure(); {
	case errors.Is(failed, library.ErrAborted): // the group has reported the reason
		return nil
	case failed != nil:
		return failed
	}
	return e.late(e.comm.Close(time.Now().Add(e.timeout)), "the end of a group of NCCL")
}
