package dataparallel

import (
	"context"
	"fmt"

	"github.com/psbench/psbench/sdk"
)

// RunEpoch calls step with every batch and its key, {epoch},{index}, and reports the
// loss that it returns. Errors say whose iteration failed. When ctx ends so does the
// epoch, with its cause.
func RunEpoch(ctx context.Context, trainer string, epoch int, batches sdk.Batches, report sdk.PassReport, step func(sdk.Key, *sdk.Batch) (float64, error)) error {
	report.Epoch(epoch)
	for index := range batches.Len() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		b, err := batches.Next()
		if err != nil {
			return err
		}
		loss, err := step(sdk.Key{A: int64(epoch), B: int64(index)}, b)
		if err != nil {
			return fmt.Errorf("%s, epoch %d, batch %d: %w", trainer, epoch, index, err)
		}
		report.Loss(loss)
	}
	return nil
}
