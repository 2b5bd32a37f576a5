package dataparallel

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/sdk"
)

// ending is a PassReport that ends its pass after some iterations.
type ending struct {
	after int
	cause error
	end   context.CancelCauseFunc
	told  []string
}

func (e *ending) Epoch(int) { e.told = append(e.told, "epoch") }
func (e *ending) Loss(float64) {
	e.told = append(e.told, "loss")
	if e.after--; e.after == 0 {
		e.end(e.cause)
	}
}

// If the pass is over, RunEpoch cuts the current epoch short. For an epoch without a batch,
// RunEpoch returns ErrPassOver. Any other end is an error.
func TestEpochOfAPassThatEnds(t *testing.T) {
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		after int
		cause error
		first error // expected error of the epoch
		next  error // expected error of the next epoch
		told  []string
	}{
		"within": {2, sdk.ErrPassOver, nil, sdk.ErrPassOver, []string{"epoch", "loss", "loss", "epoch"}},
		"at the end": {3, sdk.ErrPassOver, nil, sdk.ErrPassOver,
			[]string{"epoch", "loss", "loss", "loss", "epoch"}},
		"in the second": {4, sdk.ErrPassOver, nil, nil,
			[]string{"epoch", "loss", "loss", "loss", "epoch", "loss"}},
		"a failure":           {2, failed, failed, failed, []string{"epoch", "loss", "loss", "epoch"}},
		"a failure at an end": {3, failed, nil, failed, []string{"epoch", "loss", "loss", "loss", "epoch"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancelCause(t.Context())
			defer end(nil)
			e := &ending{after: c.after, cause: c.cause, end: end}
			parts := sdk.TrainerParts{Batches: sdk.NewBatches(make([]sdk.Batch, 3)), Recorder: &sdk.Recorder{}}
			for epoch, want := range []error{c.first, c.next} {
				err := RunEpoch(ctx, "trainer0", epoch, parts, e, func(sdk.Key, *sdk.Batch) (float64, error) {
					return 1, nil
				})
				if !errors.Is(err, want) || want == nil && err != nil {
					t.Errorf("epoch %d ended with %v, want %v", epoch, err, want)
				}
			}
			if d := cmp.Diff(c.told, e.told); d != "" {
				t.Error(d)
			}
		})
	}
}
