package trainer

import (
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/host/call"
	"github.com/psbench/psbench/sdk/host/layout"
)

// adopt hands the buckets to the engine. One whose memory Go cannot touch has gradients of its
// own, which are staged.
func (r *Role) adopt() error {
	p := &r.parts
	err := r.Adopt("buckets", r.store.Memory())
	if err != nil || r.Engine.Addressable() {
		return err
	}
	p.Gradients, err = layout.Stage(r.Engine, len(r.specs), p.Buckets)
	return err
}

// offerParameters allocates the parameters. In shared memory it passes them and the gradients
// to the companion that holds the model.
func (r *Role) offerParameters(conn *call.Link) ([]tensor.Tensor, error) {
	if !r.Fabric.Maps() {
		return layout.NewValues(r.Engine, r.specs)
	}
	if err := r.Fabric.SendStore(conn.Conn, r.store); err != nil {
		return nil, err
	}
	segment, err := shm.New(r.Name()+" parameters", layout.ValuesBytes(r.specs), true)
	if err != nil {
		return nil, err
	}
	r.OwnMemory(segment)
	return layout.ViewValues(segment.Bytes(), r.specs), conn.SendSegments(segment)
}
