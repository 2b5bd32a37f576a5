package dataparallel

import (
	"context"
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// RunEpoch calls step for every batch of parts, with the batch's key {epoch},{index}, and reports
// the loss that step returns. RunEpoch records how long the trainer waited for each batch. Errors
// name the trainer, the epoch and the batch.
//
// When ctx ends, RunEpoch returns the cause of ctx. If the pass is over after at least one batch,
// the shortened epoch counts as complete and RunEpoch returns nil.
func RunEpoch(ctx context.Context, trainer string, epoch int, parts sdk.TrainerParts, report sdk.PassReport,
	step func(sdk.Key, *sdk.Batch) (float64, error)) error {
	report.Epoch(epoch)
	data := parts.Recorder.Series(IterationMetric, Data)
	for index := range parts.Batches.Len() {
		if err := context.Cause(ctx); err != nil {
			if index > 0 && errors.Is(err, sdk.ErrPassOver) {
				return nil
			}
			return err
		}
		start := comm.Now()
		b, err := parts.Batches.Next()
		if err != nil {
			return err
		}
		end := comm.Now()
		key := sdk.Key{A: int64(epoch), B: int64(index)}
		loss, err := step(key, b)
		if err != nil {
			return fmt.Errorf("%s, epoch %d, batch %d: %w", trainer, epoch, index, err)
		}
		data.Record(key, start, end)
		report.Loss(loss)
	}
	return nil
}
