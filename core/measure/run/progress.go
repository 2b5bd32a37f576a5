package run

import (
	"time"

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/internal/host/record"
)

// Progress receives the progress of the first trainer. Its methods may be called concurrently.
type Progress interface {
	Phase(name string)
	// Pass reports that a pass begins. It gives the trainer's number of iterations or the length of the pass, and the
	// number of batches in an epoch. An unknown value is 0. samples is the number of samples that all trainers together
	// use in one iteration.
	Pass(iterations, batches int64, length time.Duration, samples float64)
	// EpochsEvery returns n to have Epoch called for the first of every n epochs, or 0 for no calls.
	EpochsEvery() int
	// Epoch reports that the trainer begins this epoch, counted from 1, out of epochs. epochs is 0 if unknown.
	Epoch(trainer string, epoch, epochs int)
	// Iterations reports a few times a second how many iterations of the pass are done, and the last loss.
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

// tell reports that a pass begins. From now on, late reports of the previous pass are dropped.
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

// epoch reports an epoch that the first trainer begins, unless the report is late.
func (r *run) epoch(pass record.Pass, epoch int) {
	if pass == record.Pass(r.told.Load()) {
		r.o.Progress.Epoch(r.processes.trainers[0].Name, epoch+1, r.epochs(pass, 0))
	}
}

// iterated reports the iterations of the first trainer, unless the report is late.
func (r *run) iterated(i record.Iterations) {
	if i.Pass == record.Pass(r.told.Load()) {
		r.o.Progress.Iterations(i.Done, i.Loss)
	}
}
