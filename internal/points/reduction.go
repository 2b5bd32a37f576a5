package points

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// reductionPoints are the points of hooks and of servers that answer gradients.
var reductionPoints = []harness.Point{
	{
		Name:    "answers",
		Promise: "every bucket of every batch is answered, whatever else is in flight; by an sdk.Answerer as it says",
		Ranks:   3,
		OnRank: func(r *harness.Rank) error {
			answerer, end, err := answererOf(r)
			if err != nil {
				return err
			}
			defer end()
			for batch, fill := range []filling{ofRank, ofRank, ofRank, zeros} {
				if err := reduceAll(r, int64(batch), fill); err != nil {
					return err
				}
				if err := compareAnswers(r, answerer, int64(batch), fill); err != nil {
					return err
				}
			}
			return nil
		},
	},
	values,
	{
		Name:   "sparse",
		Sparse: true,
		Promise: "sparse gradients come back as rows of their table: rows of one rank alone, of all at once, and " +
			"none at all",
		Ranks: 2,
		OnRank: func(r *harness.Rank) error {
			for batch, c := range []struct {
				what string
				rows func(*harness.Rank) []int32
			}{
				{"the same rows on all ranks", rowsOfAll}, {"rows of each rank's own", rowsOfRank},
				{"no rows", rowsOfNobody}, {"rows on rank 0 alone", rowsOfFirst},
			} {
				if err := reduceAll(r, int64(batch), filled(c.rows)); err != nil {
					return fmt.Errorf("%s: %w", c.what, err)
				}
			}
			return nil
		},
	},
	{
		Name:    "settled",
		Promise: "a bucket whose future is done is not touched any more",
		Ranks:   2,
		OnRank: func(r *harness.Rank) error {
			if err := reduceAll(r, 0, ofRank); err != nil {
				return err
			}
			for i, b := range r.Buckets {
				before := harness.Digest(&b.Gradient)
				time.Sleep(20 * time.Millisecond)
				if after := harness.Digest(&b.Gradient); before != after {
					return fmt.Errorf("bucket %d is %s when its future is done and %s a moment later", i, before, after)
				}
			}
			return nil
		},
	},
	{
		Name:      "equal",
		Promise:   "all ranks are left with the same bits",
		Ranks:     3,
		Agreement: true,
		OnRank: func(r *harness.Rank) error {
			for batch := range int64(3) {
				if err := reduceAll(r, batch, ofRank); err != nil {
					return err
				}
				for i, b := range r.Buckets {
					r.Same(fmt.Sprintf("bucket %d of batch %d", i, batch), &b.Gradient)
				}
			}
			return nil
		},
	},
	{
		Name:    "reset",
		Promise: "a pass after a reset is as the first one was",
		Ranks:   1,
		Passes:  2,
		OnRank: func(r *harness.Rank) error {
			for batch := range int64(3) {
				if err := reduceAll(r, batch, ofRank); err != nil {
					return err
				}
				for i, b := range r.Buckets {
					if err := r.Again(fmt.Sprintf("bucket %d of batch %d", i, batch), &b.Gradient); err != nil {
						return err
					}
				}
			}
			return nil
		},
	},
}

// batchState is the progress of a rank, as a hook sees it.
type batchState int64

func (s batchState) Batch() int64           { return int64(s) }
func (s batchState) Key(bucket int) sdk.Key { return sdk.Key{A: int64(s), B: int64(bucket)} }

// reduceAll reduces all buckets of a batch, all in flight at once.
func reduceAll(r *harness.Rank, batch int64, fill filling) error {
	futures := make([]*comm.Future, len(r.Buckets))
	for i, b := range r.Buckets {
		if err := fill(r, b, batch); err != nil {
			return err
		}
		if futures[i] = r.Hook.Reduce(batchState(batch), b); futures[i] == nil {
			return fmt.Errorf("Reduce of batch %d, bucket %d returns no future", batch, i)
		}
	}
	var first error
	patience := r.Subject.Patience()
	for i, f := range futures {
		if err := harness.Within(patience, f.Wait); first == nil && err != nil {
			first, patience = fmt.Errorf("batch %d, bucket %d: %w", batch, i, err), harness.Moment
		}
	}
	if first != nil {
		return first
	}
	for i, b := range r.Buckets {
		what := fmt.Sprintf("the answer to batch %d, bucket %d", batch, i)
		if err := b.Check(&b.Gradient); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := harness.Finite(what, b.Gradient.Values); err != nil {
			return err
		}
	}
	return nil
}
