package trainer

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/call"
	"github.com/psbench/psbench/sdk/host/layout"
	"github.com/psbench/psbench/sdk/host/process"
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
	segment, err := r.newParameters()
	if err != nil {
		return nil, err
	}
	return r.parts.Values, conn.SendSegments(segment)
}

// newParameters allocates the parameters in a segment, which can be passed.
func (r *Role) newParameters() (*shm.Segment, error) {
	segment, err := shm.New(r.Name()+" parameters", layout.ValuesBytes(r.specs), true)
	if err != nil {
		return nil, err
	}
	r.OwnMemory(segment)
	r.parts.Values = layout.ViewValues(segment.Bytes(), r.specs)
	return segment, nil
}

// newStore allocates the buckets: in memory that can be passed if a companion speaks the protocol,
// whatever carries the links.
func (r *Role) newStore(companions map[sdk.Kind]process.Peer) func([]tensor.BucketSpec) (*comm.Store, error) {
	for _, peer := range companions {
		if peer.Protocol {
			return func(specs []tensor.BucketSpec) (*comm.Store, error) {
				return r.Fabric.InSegments().NewStore(r.Name(), specs)
			}
		}
	}
	return r.NewStore
}
