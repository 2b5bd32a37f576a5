package run

import (
	"slices"
	"testing"

	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/sdk/host/record"
)

// told keeps the epochs that it is told of, and of how many.
type told struct {
	Progress
	epochs [][2]int
}

func (p *told) Epoch(_ string, epoch, epochs int) { p.epochs = append(p.epochs, [2]int{epoch, epochs}) }

// News of the warm-up that come during the measured pass are not taken for its own.
func TestLateNewsAreNotTold(t *testing.T) {
	progress := &told{}
	r := laidOut(&run{e: experiment(1, 0, registry.Links{}), o: Options{Progress: progress}})
	r.e.WarmUp.Epochs = 7
	settled(r)
	r.told.Store(int64(record.WarmUp))
	r.epoch(record.WarmUp, 5)
	r.told.Store(int64(record.Measured))
	r.epoch(record.WarmUp, 6)
	r.epoch(record.Measured, 0)
	if want := [][2]int{{6, 7}, {1, 3}}; !slices.Equal(progress.epochs, want) {
		t.Errorf("told are %v, want %v", progress.epochs, want)
	}
}
