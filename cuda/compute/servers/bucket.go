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

// bucket holds the pushes of a bucket that wait for the others, and the bucket's memory on the device.
type bucket struct {
	mu     sync.Mutex // locked before the server's
	spec   tensor.BucketSpec
	pushes []sdk.Push // pushes by trainer; no gradient until the push arrives
	begun  []bool     // by trainer: whether its copy in has been launched
	there  int        // number of pushes that have arrived

	host   [][]float32 // by trainer: pinned memory for its copies, either the push's or staged
	staged [][]float32 // by trainer: pinned memory for pushes that are not pinned; nil until needed

	loans []*device.Loan // by trainer: loan of a push in shared device memory; nil if the push is copied
	parts [][]float32    // by trainer: device memory for copied pushes; nil until needed
	at    [][]float32    // by trainer: its push on the device, copied or shared
	mean  []float32      // mean of a sparse bucket, whose union does not fit into a push

	done *driver.Event // once reached, the gradients hold the answer

	// For a sparse bucket.
	merger *tensor.RowMerger
	union  []int32                   // rows of the answer
	places []*device.Transfer[int32] // by trainer: positions of its rows in the answer
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

// makeRoom allocates device memory for the pushes of a trainer that does not share its memory.
func (b *bucket) makeRoom(d *device.Device, trainer int) (err error) {
	if b.parts[trainer] == nil {
		b.parts[trainer], err = engine.Floats(d, b.spec.Room())
	}
	return err
}

// staging reports whether some push of the round is copied between host and device.
func (b *bucket) staging() bool { return slices.Contains(b.loans, nil) }

// stage copies a push to separate pinned memory.
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

// unstage copies the means to the memory of the pushes. Some means are already there.
func (b *bucket) unstage() {
	for t, p := range b.pushes {
		if b.loans[t] == nil && b.staged[t] != nil && unsafe.SliceData(b.host[t]) == unsafe.SliceData(b.staged[t]) { // #nosec G103 -- compared
			copy(p.Gradient.Values, b.host[t])
		}
	}
}

// answer returns each trainer its own gradient, which now holds the mean.
func (b *bucket) answer() error {
	defer b.forget()
	for _, p := range b.pushes {
		if err := p.Answer(p.Gradient); err != nil {
			return err
		}
	}
	return nil
}

// key returns the batch of the pushes and the bucket. There must be at least one push.
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
