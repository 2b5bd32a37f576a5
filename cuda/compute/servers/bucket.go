//go:build nvidia

package servers

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// bucket is the pushes of a bucket that wait for the others, and its memory on the device.
type bucket struct {
	mu     sync.Mutex // taken before the server's
	spec   tensor.BucketSpec
	pushes []sdk.Push // by trainer; without a gradient until it arrives
	begun  []bool     // by trainer: its copy in was given already
	there  int        // pushes

	host   [][]float32 // by trainer: pinned memory of its copies, that of the push or what is staged
	staged [][]float32 // by trainer: pinned memory for pushes whose own is not; nil until one comes

	loans []*device.Loan // by trainer: of a push in shared memory of the device; nil of one that is copied
	parts [][]float32    // by trainer: what its pushes are copied to; nil until one comes
	at    [][]float32    // by trainer: its push on the device, in either
	mean  []float32      // of a sparse bucket, whose union fits into no push

	done *driver.Event // when it has passed the answer is in the gradients

	// Of a sparse bucket.
	merger *tensor.RowMerger
	union  []int32                   // rows of the answer
	places []*device.Transfer[int32] // by trainer: where its rows are in the answer
}

func (b *bucket) open(s *average, spec tensor.BucketSpec) (err error) {
	b.spec, b.pushes, b.begun, b.parts = spec, make([]sdk.Push, s.trainers), make([]bool, s.trainers), make([][]float32,
		s.trainers)
	b.host, b.staged = make([][]float32, s.trainers), make([][]float32, s.trainers)
	b.loans, b.at = make([]*device.Loan, s.trainers), make([][]float32, s.trainers)
	if spec.Sparse {
		b.merger, b.union = tensor.NewRowMerger(s.trainers), make([]int32, 0, spec.Capacity)
		b.places = make([]*device.Transfer[int32], s.trainers)
		for t := range b.places {
			if b.places[t], err = device.NewTransfer[int32](s.dev, s.lane); err != nil {
				return err
			}
		}
		if b.mean, err = engine.Floats(s.dev, spec.Room()); err != nil {
			return err
		}
	}
	b.done, err = s.dev.NewEvent(driver.EventOptions{BlockingSync: true})
	return err
}

// makeRoom makes room on the device for the pushes of a trainer that does not share its own.
func (b *bucket) makeRoom(d *device.Device, trainer int) (err error) {
	if b.parts[trainer] == nil {
		b.parts[trainer], err = engine.Floats(d, b.spec.Room())
	}
	return err
}

// staging says that a push of the round is copied from the host and its answer to it.
func (b *bucket) staging() bool { return slices.Contains(b.loans, nil) }

// stage takes a push to pinned memory beside its own.
func (b *bucket) stage(d *device.Device, p sdk.Push) error {
	if b.staged[p.Trainer] == nil {
		room := b.spec.Room()
		memory, err := d.AllocHost(4 * max(room, 1))
		if err != nil {
			return fmt.Errorf("bucket %d cannot be copied through pinned memory: %w", b.spec.Index, err)
		}
		b.staged[p.Trainer] = tensor.ViewOf[float32](memory, room)
	}
	b.host[p.Trainer] = b.staged[p.Trainer]
	copy(b.host[p.Trainer], p.Gradient.Values)
	return nil
}

// unstage brings the means to where the pushes lie, which some are in already.
func (b *bucket) unstage() {
	for t, p := range b.pushes {
		if b.loans[t] == nil && b.staged[t] != nil && unsafe.SliceData(b.host[t]) == unsafe.SliceData(b.staged[t]) { // #nosec G103 -- compared
			copy(p.Gradient.Values, b.host[t])
		}
	}
}

// answer gives each trainer its own gradient back, which holds the mean.
func (b *bucket) answer() error {
	defer b.forget()
	for _, p := range b.pushes {
		if err := p.Answer(p.Gradient); err != nil {
			return err
		}
	}
	return nil
}

// key is the batch of the pushes, of which there is one at least, and the bucket.
func (b *bucket) key() sdk.Key {
	for _, p := range b.pushes {
		if p.Gradient != nil {
			return sdk.Key{A: p.Batch, B: int64(b.spec.Index)}
		}
	}
	return sdk.Key{B: int64(b.spec.Index)}
}

func (b *bucket) forget() {
	clear(b.pushes)
	clear(b.begun)
	clear(b.loans)
	b.there = 0
}
