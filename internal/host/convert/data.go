package convert

import (
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// PartitionToProto converts the partition of the data to a gRPC message.
func PartitionToProto(p *batches.Partition) *proto.PartitionReply {
	out := &proto.PartitionReply{
		Samples: int64(p.Samples), Batches: int64(p.Batches), Dropped: int64(p.Dropped),
		OwnBatches: p.OwnBatches, Streamed: p.Streamed, HeldOut: int64(p.HeldOut),
	}
	for _, share := range p.Shares {
		out.Shares = append(out.Shares, ShareToProto(share))
	}
	return out
}

// PartitionFromProto is the inverse of PartitionToProto.
func PartitionFromProto(p *proto.PartitionReply) *batches.Partition {
	out := &batches.Partition{
		Samples: int(p.GetSamples()), Batches: int(p.GetBatches()), Dropped: int(p.GetDropped()),
		OwnBatches: p.GetOwnBatches(), Streamed: p.GetStreamed(), HeldOut: int(p.GetHeldOut()),
	}
	for _, share := range p.GetShares() {
		out.Shares = append(out.Shares, ShareFromProto(share))
	}
	return out
}

// ShareToProto converts a trainer's share of the data to a gRPC message.
func ShareToProto(s batches.Share) *proto.Share {
	return &proto.Share{
		Batches: int64(s.Batches), Samples: int64(s.Samples), DistinctRows: int64(s.DistinctRows),
		BatchSamples: int64(s.BatchSamples), BatchIndices: int64(s.BatchIndices),
		HeldOutBatches: int64(s.HeldOutBatches),
		TargetWidth:    int64(s.TargetWidth),
	}
}

// ShareFromProto is the inverse of ShareToProto.
func ShareFromProto(s *proto.Share) batches.Share {
	return batches.Share{
		Batches: int(s.GetBatches()), Samples: int(s.GetSamples()), DistinctRows: int(s.GetDistinctRows()),
		BatchSamples: int(s.GetBatchSamples()), BatchIndices: int(s.GetBatchIndices()),
		HeldOutBatches: int(s.GetHeldOutBatches()),
		TargetWidth:    int(s.GetTargetWidth()),
	}
}

// WantedToProto converts the targets that a criterion accepts to a gRPC message.
func WantedToProto(w batches.Wanted) *proto.Wanted {
	return &proto.Wanted{Criterion: w.Criterion, Targets: string(w.Targets)}
}

// WantedFromProto is the inverse of WantedToProto.
func WantedFromProto(w *proto.Wanted) batches.Wanted {
	return batches.Wanted{Criterion: w.GetCriterion(), Targets: sdk.TargetKind(w.GetTargets())}
}
