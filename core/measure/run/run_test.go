package run

import (
	"slices"
	"testing"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/host/record"
)

// told records the reported epochs, each with the total number of epochs, and the reported iterations.
type told struct {
	Progress
	epochs     [][2]int
	iterations []int64
}

func (p *told) Epoch(_ string, epoch, epochs int) { p.epochs = append(p.epochs, [2]int{epoch, epochs}) }

func (p *told) Iterations(done int64, _ float64) { p.iterations = append(p.iterations, done) }

// Reports from the warm-up that arrive during the measured pass are dropped.
func TestLateNewsAreNotTold(t *testing.T) {
	progress := &told{}
	r := laidOut(&run{e: experiment(1, 0, registry.Links{}), o: Options{Progress: progress}})
	r.e.WarmUp.Epochs = 7
	settled(r)
	r.told.Store(int64(record.WarmUp))
	r.epoch(record.WarmUp, 5)
	r.iterated(record.Iterations{Pass: record.WarmUp, Done: 50})
	r.told.Store(int64(record.Measured))
	r.epoch(record.WarmUp, 6)
	r.epoch(record.Measured, 0)
	r.iterated(record.Iterations{Pass: record.WarmUp, Done: 60})
	r.iterated(record.Iterations{Pass: record.Measured, Done: 1})
	if want := [][2]int{{6, 7}, {1, 3}}; !slices.Equal(progress.epochs, want) {
		t.Errorf("told are %v, want %v", progress.epochs, want)
	}
	if want := []int64{50, 1}; !slices.Equal(progress.iterations, want) {
		t.Errorf("told are %v iterations, want %v", progress.iterations, want)
	}
}
