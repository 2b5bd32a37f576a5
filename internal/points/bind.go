package points

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk/engine"
)

// bind gives the model of a rank its memory, with the buckets of a plan.
func (r *Rank) bind(p *process.Process, plan []tensor.BucketSpec) (*comm.Store, error) {
	specs := r.Model.Parameters()
	gradients, store, err := layout.New(specs, plan, p.NewStore)
	if err != nil {
		return nil, err
	}
	p.OwnMemory(store)
	r.Gradients, r.Buckets = gradients, store.Buckets
	if r.Values, err = layout.NewValues(engine.Host, specs); err != nil {
		return nil, err
	}
	return store, r.Model.Bind(r.Values, r.Gradients)
}
