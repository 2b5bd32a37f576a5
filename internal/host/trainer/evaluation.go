package trainer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// evaluation measures, after an epoch, the model's quality on this rank's share of the held-out
// samples. evaluation is nil if the rank has no such samples. A later pass with outputs of the same
// size allocates nothing.
type evaluation struct {
	trainer string // name, for errors
	engine  engine.Engine
	output  []float32 // copy of the model's output, if Go cannot access it
	batches []sdk.Batch
	classes int
	series  *sdk.Series
	scores  *scores      // scores of the current epoch; nil unless there are two classes
	done    atomic.Int64 // number of evaluated batches

	// After a failure, the core collects while the pass may still be ending. mu guards the results.
	mu     sync.Mutex
	epochs []evaluated
	bins   []record.Bin // bins of all epochs, one epoch after the other
	tookNS int64        // total time of all epochs
}

// evaluated is the result after one epoch.
type evaluated struct {
	epoch, samples int
	lossSum        float64 // sum of mean losses, weighted by samples per batch
	classified     bool    // whether correct is valid
	correct        int
	bins           int // number of this epoch's bins in evaluation.bins
}

// newEvaluation returns an evaluation on the batches heldOut, whose targets are below in.Classes.
// The outputs lie in the memory of e. Without batches, newEvaluation returns nil.
func newEvaluation(trainer string, e engine.Engine, heldOut []sdk.Batch, in sdk.InputSpec,
	recorder *sdk.Recorder) *evaluation {
	if len(heldOut) == 0 {
		return nil
	}
	made := &evaluation{
		trainer: trainer, engine: e, batches: heldOut, classes: in.Classes,
		series: recorder.Series("evaluation_metric", "evaluate"),
	}
	if in.Classes == 2 {
		made.scores = &scores{}
	}
	return made
}

// run computes the loss of every held-out batch. For a classifier, run also counts correct
// predictions and scores.
func (e *evaluation) run(ctx context.Context, epoch int, forward func(*sdk.Batch) (tensor.Tensor, error),
	criterion sdk.Criterion) error {
	if e == nil {
		return nil
	}
	start := comm.Now()
	found := evaluated{epoch: epoch}
	if e.scores != nil {
		e.scores.reset()
	}
	for i := range e.batches {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := e.add(&found, &e.batches[i], forward, criterion); err != nil {
			return fmt.Errorf("%s, evaluation after epoch %d, batch %d: %w", e.trainer, epoch, i, err)
		}
		e.done.Add(1)
	}
	end := comm.Now()
	e.keep(found, end-start)
	e.series.Record(sdk.Key{A: int64(epoch)}, start, end)
	return nil
}

// count returns the number of evaluated batches.
func (e *evaluation) count() int64 {
	if e == nil {
		return 0
	}
	return e.done.Load()
}

// add evaluates one batch and adds the result to found.
func (e *evaluation) add(found *evaluated, b *sdk.Batch, forward func(*sdk.Batch) (tensor.Tensor, error),
	criterion sdk.Criterion) error {
	output, err := forward(b)
	if err != nil {
		return err
	}
	loss, err := sdk.Loss(criterion, output, b)
	if err != nil {
		return err
	}
	found.samples += b.Size()
	found.lossSum += loss * float64(b.Size())
	if b.TargetWidth > 0 {
		return nil // a number is neither correct nor incorrect
	}
	seen, err := engine.View(e.engine, &e.output, output.Data)
	if err != nil {
		return err
	}
	e.classify(found, seen, b.Targets)
	return nil
}

// classify counts correctly predicted targets and, with two classes, the scores. A classifier's
// output has one column per class. The class with the largest value wins, or the first of equal
// ones.
//
// With two classes, the output may have a single column, a logit. A logit above 0 means class 1. A
// row with a NaN counts as wrong.
func (e *evaluation) classify(found *evaluated, output []float32, targets []int64) {
	columns := len(output) / max(1, len(targets))
	if e.classes < 2 || columns != e.classes && (columns != 1 || e.classes != 2) {
		return
	}
	found.classified = true
	for i, target := range targets {
		row := output[i*columns : (i+1)*columns]
		if columns == 1 {
			if target == 1 && row[0] > 0 || target == 0 && row[0] <= 0 {
				found.correct++
			}
		} else if wins(row, int(target)) {
			found.correct++
		}
		if e.classes == 2 {
			score := row[columns-1]
			if columns == 2 {
				score -= row[0]
			}
			e.scores.count(score, target == 1)
		}
	}
}

// wins reports whether row[k] is the first of the largest values. In a row with a NaN, no value
// wins.
func wins(row []float32, k int) bool {
	for _, v := range row[:k] {
		if !(v < row[k]) {
			return false
		}
	}
	for _, v := range row[k:] {
		if !(v <= row[k]) {
			return false
		}
	}
	return true
}

func (e *evaluation) keep(found evaluated, tookNS int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if found.classified && e.scores != nil {
		before := len(e.bins)
		e.bins = e.scores.appendTo(e.bins)
		found.bins = len(e.bins) - before
	}
	e.epochs = append(e.epochs, found)
	e.tookNS += tookNS
}

// reset clears the results of a pass and keeps the storage.
func (e *evaluation) reset() {
	if e == nil {
		return
	}
	e.mu.Lock()
	e.epochs, e.bins, e.tookNS = e.epochs[:0], e.bins[:0], 0
	e.mu.Unlock()
}

// spentNS returns the total time of the pass's evaluations.
func (e *evaluation) spentNS() int64 {
	if e == nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tookNS
}

// collect sends the results in one message per epoch, because an epoch with many bins nearly fills
// a message.
func (e *evaluation) collect(send record.Send) error {
	if e == nil {
		return nil
	}
	return record.SendAll(send, e.found())
}

func (e *evaluation) found() []record.Evaluation {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []record.Evaluation
	bins := e.bins
	for _, f := range e.epochs {
		q := record.Evaluation{Epoch: f.epoch, Samples: f.samples, LossSum: f.lossSum,
			Bins: slices.Clone(bins[:f.bins])}
		if f.classified {
			correct := f.correct
			q.Correct = &correct
		}
		bins = bins[f.bins:]
		out = append(out, q)
	}
	return out
}
