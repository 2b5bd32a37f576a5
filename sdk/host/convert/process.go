package convert

import (
	"time"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/batches"
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/proto"
)

// Process says who a process is.
func Process(req *proto.ConfigureRequest) process.Config {
	return process.Config{
		Name: req.GetName(), Rank: int(req.GetRank()), Part: Choice(req.GetPart()),
		Timeout: time.Duration(req.GetTimeoutNs()), Secret: req.GetSecret(),
		Directory: req.GetDirectory(), Transport: req.GetTransport(), Listen: req.GetListen(),
	}
}

// Choice is a part with its settings.
func Choice(c *proto.PartChoice) process.Choice {
	return process.Choice{Kind: sdk.Kind(c.GetKind()), Key: c.GetKey(), Settings: c.GetSettings()}
}

// ModelEnv is what a model knows of its run.
func ModelEnv(e *proto.ModelEnv) sdk.ModelEnv {
	return sdk.ModelEnv{MaxBatch: int(e.GetMaxBatch()), Threads: int(e.GetThreads()), FirstTensor: int(e.GetFirstTensor())}
}

// Peer is a process to join.
func Peer(p *proto.Peer) process.Peer {
	return process.Peer{Name: p.GetName(), Address: p.GetAddress()}
}

// PeerOrNil is one that may be missing.
func PeerOrNil(p *proto.Peer) *process.Peer {
	if p == nil {
		return nil
	}
	peer := Peer(p)
	return &peer
}

// Peers are processes to join, in order.
func Peers(list []*proto.Peer) []process.Peer {
	var out []process.Peer
	for _, p := range list {
		out = append(out, Peer(p))
	}
	return out
}

// Group is the members of a collective.
func Group(g *proto.Group) process.Group {
	return process.Group{Members: Peers(g.GetMembers()), Position: int(g.GetPosition())}
}

// GroupOrNil is one that may be missing.
func GroupOrNil(g *proto.Group) *process.Group {
	if g == nil {
		return nil
	}
	group := Group(g)
	return &group
}

// HookLinks are the links of a hook.
func HookLinks(l *proto.HookLinks) process.HookLinks {
	return process.HookLinks{Server: PeerOrNil(l.GetServer()), Group: GroupOrNil(l.GetGroup()), Default: GroupOrNil(l.GetDefault())}
}

// ShareFromProto is a trainer's share of the data, in counts.
func ShareFromProto(s *proto.Share) batches.Share {
	return batches.Share{
		Batches: int(s.GetBatches()), Samples: int(s.GetSamples()), DistinctRows: int(s.GetDistinctRows()),
		BatchSamples: int(s.GetBatchSamples()), BatchIndices: int(s.GetBatchIndices()), HeldOutBatches: int(s.GetHeldOutBatches()),
	}
}

// ShareToProto is the inverse of ShareFromProto.
func ShareToProto(s batches.Share) *proto.Share {
	return &proto.Share{
		Batches: int64(s.Batches), Samples: int64(s.Samples), DistinctRows: int64(s.DistinctRows),
		BatchSamples: int64(s.BatchSamples), BatchIndices: int64(s.BatchIndices), HeldOutBatches: int64(s.HeldOutBatches),
	}
}
