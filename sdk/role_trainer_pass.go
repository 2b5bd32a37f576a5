package sdk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// work is what was done of a pass; see proto.Work.
type work struct{ startNS, endNS, evaluatedNS, samples int64 }

func (w work) toProto() *proto.Work {
	return &proto.Work{StartNs: w.startNS, EndNs: w.endNS, EvaluatedNs: w.evaluatedNS, Samples: w.samples}
}

func (r *trainerRole) reset() error {
	r.recorder.Reset()
	r.evaluation.reset()
	r.batches.taken = 0
	r.mu.Lock()
	r.losses, r.work, r.found = r.losses[:0], work{}, nonFinite{}
	r.mu.Unlock()
	return errorOf(r.title(), "Reset", r.trainer.Reset())
}

func (r *trainerRole) train(ctx context.Context, epochs int) (*proto.TrainReply, error) {
	if !r.working.TryRLock() {
		return nil, fmt.Errorf("%s is ending", r.name())
	}
	defer r.working.RUnlock()
	r.training.Lock()
	defer r.training.Unlock()
	ctx, r.stop = context.WithCancelCause(ctx)
	defer r.stop(nil)
	r.begin()
	r.epochs = epochs
	err := r.trainer.Train(ctx, r)
	if errors.Is(err, errPassOver) {
		err = nil
	}
	if err != nil {
		err = r.explain(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.came(comm.Now())
		if r.found.inspect(r.specs, r.parts.Values); r.found.parameter != "" {
			err = r.diverged()
		}
	}
	if cause := (*divergence)(nil); errors.As(context.Cause(ctx), &cause) {
		err = cause // whatever the trainer made of it
	}
	if err != nil {
		return nil, err
	}
	return &proto.TrainReply{Work: r.work.toProto()}, nil
}

// divergence is the error of a pass that ended because something was not finite.
type divergence struct{ what string }

func (d *divergence) Error() string { return d.what + " (--on-nan fail)" }

// diverged is an error if the run must not go on with what was found; r.mu is held.
func (r *trainerRole) diverged() error {
	if !r.req.GetFailOnNan() {
		return nil
	}
	return &divergence{DescribeNonFinite(r.name(), r.found.toProto())}
}

func (r *trainerRole) begin() {
	r.mu.Lock()
	r.work.startNS = comm.Now()
	r.mu.Unlock()
}

// came notes how far the pass is; r.mu is held.
func (r *trainerRole) came(nowNS int64) {
	r.work.endNS, r.work.evaluatedNS = nowNS, r.evaluation.spentNS()
}

// explain says where in training err came, and of whom, unless the trainer has said so.
func (r *trainerRole) explain(err error) error {
	if names(err, r.name()) {
		return err
	}
	return fmt.Errorf("%s%s: %w", r.name(), r.batches.place(), errorOf(r.title(), "Train", err))
}

// errPassOver ends a pass that has fewer epochs than the trainer was made for. A trainer
// looks at its context before each iteration, so it ends where the next epoch begins.
var errPassOver = errors.New("the pass is over")

// Epoch implements PassReport. The pass starts with epoch 0.
func (r *trainerRole) Epoch(epoch int) {
	if r.stop != nil && epoch == r.epochs {
		r.stop(errPassOver)
		return
	}
	if epoch == 0 {
		r.begin()
	}
	r.next = Key{A: int64(epoch)}
	r.events.epoch(epoch)
}

// Loss implements PassReport.
func (r *trainerRole) Loss(loss float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.losses = append(r.losses, loss)
	r.work.samples += int64(r.batches.size)
	r.came(comm.Now())
	if !isFinite(loss) && r.found.note(r.next, loss) {
		r.found.inspect(r.specs, r.parts.Values)
		if !r.req.GetParametersBack() {
			r.found.inspectGradients(r.specs, r.parts.Gradients)
		}
		if err := r.diverged(); err != nil {
			r.stop(err)
		}
	}
	r.next.B++
}

func (r *trainerRole) collect(send func(*proto.CollectReply) error) error {
	ended := within(collectGrace, r.training.TryLock)
	if ended {
		defer r.training.Unlock()
	}
	r.mu.Lock() // so that no iteration ends between the one and the other
	done, series := &proto.CollectReply{Work: r.work.toProto(), Losses: slices.Clone(r.losses), NonFinite: r.found.toProto()}, r.recorder.All()
	r.mu.Unlock()
	if err := send(done); err != nil {
		return err
	}
	if err := sendSeries(series, send); err != nil {
		return err
	}
	if err := r.evaluation.collect(send); err != nil {
		return err
	}
	if !r.req.GetSummarize() || !ended {
		return nil
	}
	summaries, err := summarize(r.specs, r.parts.Values, r.initialize)
	if err != nil {
		return err
	}
	return send(&proto.CollectReply{Parameters: summaries})
}

// initialize makes the initial parameters once more.
func (r *trainerRole) initialize() error {
	r.model.Initialize(r.req.GetSeed())
	return failureOf(r.model)
}
