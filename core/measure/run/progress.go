package run

import (
	"time"

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/internal/host/record"
)

// Progress receives the progress of a run, from the first trainer. Its methods may be called
// concurrently.
type Progress interface {
	Phase(name string)
	// Pass says that a pass begins, of so many iterations of the trainer or so long, with so
	// many of them to an epoch; 0 is for what is not known. In each of the iterations all
	// trainers take so many samples.
	Pass(iterations, batches int64, length time.Duration, samples float64)
	// EpochsEvery is n where the first of every n epochs is to be reported, 0 for none.
	EpochsEvery() int
	// Epoch says that the trainer begins an epoch, counted from 1, of so many; 0: of a number
	// that nobody knows.
	Epoch(trainer string, epoch, epochs int)
	// Iterations says, a few times a second, how many the trainer has done of the pass, and
	// the loss of the last one.
	Iterations(done int64, loss float64)
}

// Silent is a Progress that reports nothing.
var Silent Progress = silent{}

type silent struct{}

func (silent) Phase(string)                              {}
func (silent) Pass(int64, int64, time.Duration, float64) {}
func (silent) EpochsEvery() int                          { return 0 }
func (silent) Epoch(string, int, int)                    {}
func (silent) Iterations(int64, float64)                 {}

// follow makes the first trainer report its progress if there is a listener.
func (r *run) follow() {
	if r.o.Progress != Silent {
		r.processes.trainers[0].Follower = &monitor.Follower{EpochsEvery: r.o.Progress.EpochsEvery(), Epoch: r.epoch,
			Iterations: r.iterated}
	}
}

// tell says that a pass begins. What is late of the one before is not told from here on.
func (r *run) tell(pass record.Pass) {
	r.told.Store(int64(pass))
	samples := 0
	for _, s := range r.shares {
		samples += s.Samples
	}
	batches := r.shares[0].Batches
	r.o.Progress.Pass(int64(r.iterations(pass, 0)), int64(batches), r.lengths[pass].Time,
		float64(samples)/float64(max(1, batches)))
}

// epoch passes on what the first trainer begins, unless it is late.
func (r *run) epoch(pass record.Pass, epoch int) {
	if pass == record.Pass(r.told.Load()) {
		r.o.Progress.Epoch(r.processes.trainers[0].Name, epoch+1, r.epochs(pass, 0))
	}
}

// iterated passes on what the first trainer has done, unless it is late.
func (r *run) iterated(i record.Iterations) {
	if i.Pass == record.Pass(r.told.Load()) {
		r.o.Progress.Iterations(i.Done, i.Loss)
	}
}
