package server

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// rowReduction reduces sparse gradients. Their sum grows by rows, so it cannot come into
// being in the place of one of them: each merge makes it anew in memory of the server's.
// Merging lists of n rows in all costs that many comparisons times the lists, and a pass over
// their values.
type rowReduction struct {
	*reduction
	merger     *tensor.RowMerger
	combine    func(row []float32, others [][]float32) // the server's; a method value is an allocation
	parts      []*tensor.Gradient                      // by trainer, where they are kept
	sum, spare tensor.Gradient
}

func newRowReduction(r *reduction, spec tensor.BucketSpec, trainers int) *rowReduction {
	return &rowReduction{
		reduction: r, merger: tensor.NewRowMerger(max(2, trainers)), combine: r.server.Combine,
		parts: make([]*tensor.Gradient, trainers), sum: tensor.NewGradient(spec), spare: tensor.NewGradient(spec),
	}
}

// add notes a gradient and, as the server's timing says, merges what is there.
func (r *rowReduction) add(a *comm.Arrival, first, last bool) (spentNS int64, err error) {
	start := int64(0)
	switch {
	case r.timing == sdk.OnLastArrival:
		r.parts[a.Trainer] = a.Gradient
		if !last {
			return 0, nil
		}
		start = r.clock.now()
		err = r.merge(r.parts...)
	case first:
		err = r.sum.CopyFrom(a.Gradient)
	default:
		err = r.merge(&r.sum, a.Gradient)
	}
	if err != nil || !last {
		return 0, err
	}
	if r.timing == sdk.OnArrival {
		start = r.clock.now()
	}
	r.server.Finish(r.sum.Values)
	return int64(max(0, r.clock.since(start))), nil
}

// merge sets the sum to the union of gradients. The sum may be one of them.
func (r *rowReduction) merge(gradients ...*tensor.Gradient) error {
	r.merger.Reset()
	for _, g := range gradients {
		r.merger.Add(g)
	}
	if err := r.merger.Combine(&r.spare, r.combine); err != nil {
		return err
	}
	r.sum, r.spare = r.spare, r.sum
	return nil
}
