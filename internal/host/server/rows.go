package server

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// rowReduction reduces sparse gradients. Merging adds rows, so the sum cannot be computed in the
// memory of a gradient. Each merge writes a new sum in the server's own memory. Merging k lists
// with n rows in total takes n*k comparisons and one pass over their values.
type rowReduction struct {
	*reduction
	merger     *tensor.RowMerger
	combine    func(row []float32, others [][]float32) // stored because each method value allocates
	parts      []*tensor.Gradient                      // by trainer, if they are kept
	sum, spare tensor.Gradient
}

func newRowReduction(r *reduction, spec tensor.BucketSpec, trainers int) *rowReduction {
	return &rowReduction{
		reduction: r, merger: tensor.NewRowMerger(max(2, trainers)), combine: r.server.Combine,
		parts: make([]*tensor.Gradient, trainers), sum: tensor.NewGradient(spec), spare: tensor.NewGradient(spec),
	}
}

// add records a gradient and merges the arrived gradients as the server's timing says.
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

// merge sets the sum to the union of the gradients' rows. The sum may be one of the gradients.
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
