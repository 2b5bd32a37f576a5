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

// configured notes what a process holds.
func (p *process) configured(reply *proto.ConfigureReply) {
	switch q := reply.GetHolds().(type) {
	case *proto.ConfigureReply_Model:
		p.model = new(convert.ModelFromProto(q.Model))
	case *proto.ConfigureReply_Table:
		p.table = new(convert.TableFromProto(q.Table))
	}
}

// planned notes the plan of a trainer.
func (p *process) planned(reply *proto.PlanReply) {
	p.plan = plan{buckets: convert.BucketsFromProto(reply.GetBuckets())}
	if in := reply.GetInputs(); in != nil {
		p.plan.inputs = new(convert.InputsFromProto(in))
	}
}

// partitioned says how the data process shared the batches out.
func partitioned(reply *proto.PartitionReply) *batches.Partition {
	return convert.PartitionFromProto(reply)
}

// connected notes what a process found as it joined its links.
func (p *process) connected(reply *proto.ConnectReply) {
	p.facts, p.boundariesNS = reply.GetFacts(), map[sdk.Kind]int64{}
	for kind, ns := range reply.GetBoundaryNs() {
		p.boundariesNS[sdk.Kind(kind)] = ns
	}
}

// workOf is what a trainer did in a pass, on its own clock.
func workOf(reply *proto.TrainReply) record.Work { return convert.WorkFromProto(reply.GetWork()) }

// readRecord hands over what a process recorded of a pass, piece by piece and on its own clock,
// until the end or an error, which may be take's.
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
