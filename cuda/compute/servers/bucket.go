//go:build nvidia

package servers

import (
	"sync"

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

	parts [][]float32   // by trainer
	mean  []float32     // of them
	done  *driver.Event // the answer is in the gradients

	// Of a sparse bucket.
	merger *tensor.RowMerger
	union  []int32                   // rows of the answer
	places []*device.Transfer[int32] // by trainer: where its rows are in the answer
}

func (b *bucket) open(s *average, spec tensor.BucketSpec) (err error) {
	b.spec, b.pushes, b.begun, b.parts = spec, make([]sdk.Push, s.trainers), make([]bool, s.trainers), make([][]float32, s.trainers)
	room := spec.Elements
	if spec.Sparse {
		room = spec.Capacity * spec.Width
		b.merger, b.union = tensor.NewRowMerger(s.trainers), make([]int32, 0, spec.Capacity)
		b.places = make([]*device.Transfer[int32], s.trainers)
		for t := range b.places {
			if b.places[t], err = device.NewTransfer[int32](s.dev, s.lane); err != nil {
				return err
			}
		}
	}
	for t := range b.parts {
		if b.parts[t], err = engine.Floats(s.dev, room); err != nil {
			return err
		}
	}
	if b.mean, err = engine.Floats(s.dev, room); err != nil {
		return err
	}
	b.done, err = s.dev.NewEvent(driver.EventOptions{BlockingSync: true})
	return err
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

func (b *bucket) forget() {
	clear(b.pushes)
	clear(b.begun)
	b.there = 0
}
