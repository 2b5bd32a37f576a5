package points

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
)

// buckets are those that the part is tried with, one for each parameter of Sizes, and one that is
// empty.
func (s *Subject) buckets(large bool) []tensor.BucketSpec {
	var list []tensor.BucketSpec
	for i, p := range (&toys.Sizes{DenseOnly: s.dense(), Large: large}).Parameters() {
		n := tensor.Elements(p.Shape)
		b := tensor.BucketSpec{Index: i, Elements: n, Parameters: []tensor.Span{{Parameter: i, Elements: n}}}
		if p.Sparse {
			b.Sparse, b.TableRows, b.Width, b.Capacity = true, p.Shape[0], p.Shape[1], 9
			if large {
				b.Capacity = b.TableRows
			}
		}
		list = append(list, b)
	}
	return append(list, tensor.BucketSpec{Index: len(list)})
}

// reductionPoints are those of hooks, and of servers that gradients are pushed to.
var reductionPoints = []Point{
	{
		Name:    "answers",
		Promise: "every bucket of every batch is answered, whatever else is in flight; by an sdk.Answerer as it says",
		Ranks:   3,
		rank: func(r *Rank) error {
			answerer, end, err := r.answerer()
			if err != nil {
				return err
			}
			defer end()
			for batch, fill := range []filling{ofRank, ofRank, ofRank, zeros} {
				if err := r.reduceAll(int64(batch), fill); err != nil {
					return err
				}
				if err := r.compareAnswers(answerer, int64(batch), fill); err != nil {
					return err
				}
			}
			return nil
		},
	},
	values,
	{
		Name:    "sparse",
		Sparse:  true,
		Promise: "sparse gradients come back as rows of their table: those of one rank alone, of all at once, and none at all",
		Ranks:   2,
		rank: func(r *Rank) error {
			for i, rows := range []func(*Rank) []int32{rowsOfAll, rowsOfRank, rowsOfNobody, rowsOfFirst} {
				if err := r.reduceAll(int64(i), filled(rows)); err != nil {
					return fmt.Errorf("%s: %w", [...]string{"the same rows on all ranks", "rows of each rank's own", "no rows", "rows on rank 0 alone"}[i], err)
				}
			}
			return nil
		},
	},
	{
		Name:    "settled",
		Promise: "a bucket whose future is done is not touched any more",
		Ranks:   2,
		rank: func(r *Rank) error {
			if err := r.reduceAll(0, ofRank); err != nil {
				return err
			}
			for i, b := range r.Buckets {
				before := digest(&b.Gradient)
				time.Sleep(20 * time.Millisecond)
				if after := digest(&b.Gradient); before != after {
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
		rank: func(r *Rank) error {
			for batch := range int64(3) {
				if err := r.reduceAll(batch, ofRank); err != nil {
					return err
				}
				for i, b := range r.Buckets {
					r.same(fmt.Sprintf("bucket %d of batch %d", i, batch), &b.Gradient)
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
		rank: func(r *Rank) error {
			for batch := range int64(3) {
				if err := r.reduceAll(batch, ofRank); err != nil {
					return err
				}
				for i, b := range r.Buckets {
					if err := r.again(fmt.Sprintf("bucket %d of batch %d", i, batch), &b.Gradient); err != nil {
						return err
					}
				}
			}
			return nil
		},
	},
}

// batchState is the progress of a rank, as hooks are told it.
type batchState int64

func (s batchState) Batch() int64           { return int64(s) }
func (s batchState) Key(bucket int) sdk.Key { return sdk.Key{A: int64(s), B: int64(bucket)} }

// reduceAll has all buckets of a batch reduced, all in flight at once.
func (r *Rank) reduceAll(batch int64, fill filling) error {
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
	patience := r.subject.timeout()
	for i, f := range futures {
		if err := within(patience, f.Wait); first == nil && err != nil {
			first, patience = fmt.Errorf("batch %d, bucket %d: %w", batch, i, err), moment
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
		if err := finite(what, b.Gradient.Values); err != nil {
			return err
		}
	}
	return nil
}

// filling makes a gradient of a rank's own in a bucket, a function of rank, batch and bucket.
type filling func(r *Rank, b *tensor.Bucket, batch int64) error

// filled is a filling with these rows. Values are multiples of 1/64, so that sums of them are exact
// in any order.
func filled(rows func(*Rank) []int32) filling {
	return func(r *Rank, b *tensor.Bucket, batch int64) error {
		if b.Sparse {
			if err := setRows(b, rows(r)); err != nil {
				return err
			}
		}
		for i := range b.Gradient.Values {
			b.Gradient.Values[i] = toys.Number(int(batch)*7919 + r.Position*104729 + b.Index*1299709 + i)
		}
		return nil
	}
}

func setRows(b *tensor.Bucket, rows []int32) error {
	err := b.Gradient.SetRows(min(len(rows), b.Capacity))
	if err == nil {
		copy(b.Gradient.Rows, rows)
	}
	return err
}

// ofRank has rows of each rank's own.
var ofRank = filled(rowsOfRank)

// zeros have the rows of ofRank, and no value but 0.
func zeros(r *Rank, b *tensor.Bucket, batch int64) error {
	err := ofRank(r, b, batch)
	clear(b.Gradient.Values)
	return err
}

func rowsOfAll(*Rank) []int32    { return []int32{0, 2, 3, 12} }
func rowsOfRank(r *Rank) []int32 { p := int32(r.Position % 3); return []int32{p, p + 1, p + 5} } // #nosec G115 -- below 3
func rowsOfNobody(*Rank) []int32 { return nil }
func rowsOfFirst(r *Rank) []int32 {
	if r.Position > 0 {
		return nil
	}
	return []int32{4}
}
