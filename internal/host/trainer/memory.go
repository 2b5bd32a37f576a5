package trainer

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// adopt makes the engine adopt the buckets. If Go cannot access the engine's memory, adopt
// allocates staged gradients there.
func (r *Role) adopt() error {
	p := &r.parts
	err := r.Adopt("buckets", r.store.Memory())
	if err != nil || r.Engine.Addressable() {
		return err
	}
	p.Gradients, r.staged, err = layout.Stage(r.Engine, len(r.specs), p.Buckets)
	return err
}

// mayShare returns why buckets must not stay in the engine's memory. mayShare ignores the links,
// which may forbid sharing too. mayShare returns "" if buckets may stay there.
func (r *Role) mayShare(hook process.Choice) string {
	_, shares := r.Engine.(engine.Sharer)
	part, err := r.Find(hook)
	switch {
	case err != nil:
		return err.Error()
	case !shares:
		return "engine " + r.Engine.Name() + " shares no memory"
	case !part.Carries:
		return "hook " + hook.Key + " does more with buckets than hand them to links"
	case r.Keeper != nil:
		return "what the links carry is checked"
	case !r.Fabric.Maps() || !r.Fabric.OnOneHost(): // some links may go to another host
		return "transport " + r.Fabric.Name + " maps no memory of one host"
	}
	return ""
}

// share lets buckets stay in the engine's memory if all links support that. share adds a fact that
// says how buckets are transferred.
func (r *Role) share(refused string, facts map[string]string) {
	if r.staged == nil {
		return
	}
	if refused == "" {
		refused = r.Staged()
	}
	if refused != "" {
		facts[record.FactBuckets] = "staged: " + refused
		return
	}
	r.parts.Buckets, r.parts.AwaitShared = r.staged, r.Engine.(engine.Sharer).AwaitShared
	facts[record.FactBuckets] = record.BucketsShared
	if library := r.Library(); library != "" {
		facts[record.FactBuckets], facts[record.FactGroup] = record.BucketsLeft, library
	}
}

// offerParameters allocates the parameters. With shared memory, offerParameters passes parameters
// and gradients to the companion that holds the model.
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

// newParameters allocates the parameters in a segment that can be passed to another process.
func (r *Role) newParameters() (*shm.Segment, error) {
	segment, err := shm.New(r.Name()+" parameters", layout.ValuesBytes(r.specs), true)
	if err != nil {
		return nil, err
	}
	r.OwnMemory(segment)
	r.parts.Values = layout.ViewValues(segment.Bytes(), r.specs)
	return segment, nil
}

// newStore returns the function that allocates the buckets. If a companion speaks the protocol,
// buckets lie in segments that can be passed to it, even if the links' transport uses no segments.
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
