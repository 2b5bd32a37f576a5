package run

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// configured stores a process's reply to Configure.
func (p *process) configured(reply *proto.ConfigureReply) {
	switch q := reply.GetHolds().(type) {
	case *proto.ConfigureReply_Model:
		p.model = new(convert.ModelFromProto(q.Model))
	case *proto.ConfigureReply_Table:
		p.table = new(convert.TableFromProto(q.Table))
	}
}

// planned stores the plan of a trainer or of a hook's companion.
func (p *process) planned(reply *proto.PlanReply) {
	p.plan = plan{buckets: convert.BucketsFromProto(reply.GetBuckets()),
		traffic: convert.TrafficFromProto(reply.GetTraffic())}
	if in := reply.GetInputs(); in != nil {
		p.plan.inputs = new(convert.InputsFromProto(in))
	}
}

// partitioned returns the partition of the batches that the data process chose.
func partitioned(reply *proto.PartitionReply) *batches.Partition {
	return convert.PartitionFromProto(reply)
}

// connected stores the measurements that a process made while it joined its links.
func (p *process) connected(reply *proto.ConnectReply) {
	p.facts, p.boundariesNS = reply.GetFacts(), map[sdk.Kind]int64{}
	for kind, ns := range reply.GetBoundaryNs() {
		p.boundariesNS[sdk.Kind(kind)] = ns
	}
}

// workOf returns a trainer's work in a pass, on its own clock.
func workOf(reply *proto.TrainReply) record.Work { return convert.WorkFromProto(reply.GetWork()) }

// readRecord reads a process's record of a pass and calls take for each piece. Time stamps are on the process's clock.
// It ends after the last piece or at an error, which may come from take.
func (p *process) readRecord(ctx context.Context, pass record.Pass, take func(record.Piece) error) error {
	stream, err := p.Collect(ctx, collectRequest(pass))
	if err != nil {
		return err
	}
	for {
		reply, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		piece, err := convert.PieceFromProto(reply)
		if err != nil {
			return fmt.Errorf("%s sent %w", p.Name, err)
		}
		if err := take(piece); err != nil {
			return err
		}
	}
}
