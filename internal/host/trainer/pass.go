package trainer

import (
	"context"
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/internal/host/inspect"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/sdk"
)

// Reset returns to the initial parameters and clears the recorded values, including those that
// parts record in Reset.
func (r *Role) Reset() error {
	defer r.Recorder.Reset()
	r.Keeper.Reset()
	r.evaluation.reset()
	if err := r.batches.Rewind(); err != nil {
		return err
	}
	r.mu.Lock()
	r.ending.forget()
	r.losses.reset()
	r.work, r.found = record.Work{}, inspect.NonFinite{}
	r.mu.Unlock()
	r.parts.Hook.Reset()
	return fault.Of(r.Title(), "Reset", r.trainer.Reset())
}

// Train runs a pass of the given length, or until End if length is zero. Train returns the work
// done in the pass.
func (r *Role) Train(ctx context.Context, length stop.Length) (*record.Work, error) {
	r.training.Lock()
	defer r.training.Unlock()
	r.mu.Lock()
	ctx = r.ending.begin(ctx, length)
	r.mu.Unlock()
	defer r.ending.stop(nil)
	defer r.watch(ctx)()
	r.begin()
	err := r.trainer.Train(ctx, r)
	if errors.Is(err, sdk.ErrPassOver) {
		err = nil
	}
	if err != nil {
		err = r.explain(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.came(comm.Now())
		if err = r.found.Inspect(r.copies, r.specs, r.parts.Values); err == nil && r.found.Parameter != "" {
			err = r.diverged()
		}
	}
	if cause := (*divergence)(nil); errors.As(context.Cause(ctx), &cause) {
		err = cause // replaces the trainer's own error
	}
	if err != nil {
		return nil, err
	}
	work := r.work
	return &work, nil
}

// divergence is the error of a pass that ended because of a value that is not finite.
type divergence struct{ what string }

func (d *divergence) Error() string { return d.what + " (--on-nan fail)" }

// diverged returns an error if the run must stop because of non-finite values. The caller holds
// r.mu.
func (r *Role) diverged() error {
	if !r.config.FailOnNaN {
		return nil
	}
	return &divergence{inspect.Describe(r.Name(), r.found.Record())}
}

func (r *Role) begin() {
	r.mu.Lock()
	r.work.StartNS = comm.Now()
	r.mu.Unlock()
}

// came records the progress of the pass. The caller holds r.mu.
func (r *Role) came(nowNS int64) {
	r.work.EndNS, r.work.EvaluatedNS = nowNS, r.evaluation.spentNS()
}

// explain adds the trainer's name and the current batch to err, unless the error already names the
// trainer.
func (r *Role) explain(err error) error {
	if fault.Begins(err, r.Name()) {
		return err
	}
	return fmt.Errorf("%s%s: %w", r.Name(), r.batches.place(), fault.Of(r.Title(), "Train", err))
}

// Epoch implements PassReport. The pass starts with epoch 0. The trainer may be built for more
// epochs than this pass has. The pass then ends where its next epoch would begin.
func (r *Role) Epoch(epoch int) {
	select {
	case <-r.ending.stopped:
		return
	default:
	}
	if r.ending.epochs > 0 && epoch == r.ending.epochs {
		r.ending.stop(sdk.ErrPassOver)
		return
	}
	if epoch == 0 {
		r.begin()
	}
	r.next = sdk.Key{A: int64(epoch)}
	r.Events.Epoch(epoch)
}

// Loss implements PassReport.
func (r *Role) Loss(loss float64) {
	if r.note(loss) {
		r.awaitEnd()
	}
}

// note records the loss of an iteration. note returns true if the trainer must wait before it
// continues.
func (r *Role) note(loss float64) (wait bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.losses.add(loss)
	r.work.Samples += int64(r.batches.size)
	r.came(comm.Now())
	if !numeral.Finite(loss) && r.found.Note(r.next, loss) {
		if err := r.lookAround(); err != nil {
			r.ending.stop(err)
		}
	}
	r.next.B++
	r.Events.Iteration(loss)
	return r.stepped()
}

// lookAround checks parameters and gradients after the first loss that is not finite. lookAround
// returns an error if the run must stop. The caller holds r.mu.
func (r *Role) lookAround() error {
	if err := r.found.Inspect(r.copies, r.specs, r.parts.Values); err != nil {
		return err
	}
	if !r.config.ParametersBack {
		if err := r.found.InspectGradients(r.copies, r.specs, r.parts.Gradients); err != nil {
			return err
		}
	}
	return r.diverged()
}

// Collect sends the pass's recorded values, even while the pass runs. If the pass has ended,
// Collect also sends the results for the parameters.
func (r *Role) Collect(send record.Send) error {
	ended := process.Within(process.CollectGrace, r.training.TryLock)
	var facts record.Facts
	if ended {
		defer r.training.Unlock()
		facts = process.PassFactsOf(r.trainer, r.parts.Model, r.parts.Criterion, r.parts.Hook)
	}
	r.mu.Lock() // no iteration may end between the two readings
	work := r.work
	done := []record.Piece{&work}
	for _, losses := range r.losses.snapshot() {
		done = append(done, record.Losses(losses))
	}
	if found := r.found.Record(); found != nil {
		done = append(done, found)
	}
	recorded := r.Recorder.All()
	r.mu.Unlock()
	for _, piece := range done {
		if err := send(piece); err != nil {
			return err
		}
	}
	if err := process.SendRecorded(recorded, send); err != nil {
		return err
	}
	if ended {
		if err := r.Keeper.Collect(send); err != nil {
			return err
		}
		if err := process.SendPassFacts(facts, send); err != nil {
			return err
		}
		if err := r.collectReplica(send); err != nil {
			return err
		}
	}
	if err := r.evaluation.collect(send); err != nil {
		return err
	}
	if !r.config.Summarize || !ended {
		return nil
	}
	summaries, err := inspect.Summarize(r.Engine, r.specs, r.parts.Values, r.initialize)
	if err != nil {
		return err
	}
	return record.SendAll(send, summaries)
}

// collectReplica sends the parameters' checksums. The core compares these checksums with the
// checksums of other trainers.
func (r *Role) collectReplica(send record.Send) error {
	if r.config.Trainers < 2 {
		return nil
	}
	checksums, err := inspect.Checksums(r.copies, r.parts.Values)
	if err != nil {
		return err
	}
	return send(&record.Replica{Checksums: checksums})
}

// initialize sets the parameters to their initial values again.
func (r *Role) initialize() error {
	r.model.Initialize(r.config.Seed)
	return hosted.FailureOf(r.model)
}
