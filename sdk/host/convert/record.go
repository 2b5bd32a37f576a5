package convert

import (
	"github.com/psbench/psbench/sdk/host/record"
	"github.com/psbench/psbench/sdk/proto"
)

// Piece gives a piece of a record the form in which it crosses gRPC.
func Piece(p record.Piece) *proto.CollectReply {
	out := &proto.CollectReply{Losses: p.Losses, Work: Work(p.Work)}
	if p.Series != nil {
		out.Series = []*proto.Series{series(p.Series)}
	}
	if n := p.NonFinite; n != nil {
		out.NonFinite = &proto.NonFinite{Epoch: n.Epoch, Batch: n.Batch, Loss: n.Loss, Losses: n.Losses, Parameter: n.Parameter, Gradient: n.Gradient}
	}
	for _, e := range p.Evaluations {
		out.Evaluations = append(out.Evaluations, evaluation(e))
	}
	for _, s := range p.Parameters {
		out.Parameters = append(out.Parameters, &proto.ParameterSummary{
			Name: s.Name, Elements: int64(s.Elements), DeltaSum: s.DeltaSum, DeltaSumsq: s.DeltaSumSq, DeltaHead: s.DeltaHead, Head: s.Head,
		})
	}
	return out
}

// Work is what a trainer did in a pass; nil stays nil.
func Work(w *record.Work) *proto.Work {
	if w == nil {
		return nil
	}
	return &proto.Work{StartNs: w.StartNS, EndNs: w.EndNS, EvaluatedNs: w.EvaluatedNS, Samples: w.Samples}
}

// NonFinite is what a process found of NaN and infinite values.
func NonFinite(n *proto.NonFinite) *record.NonFinite {
	return &record.NonFinite{
		Epoch: n.GetEpoch(), Batch: n.GetBatch(), Loss: n.GetLoss(), Losses: n.GetLosses(),
		Parameter: n.GetParameter(), Gradient: n.GetGradient(),
	}
}

func series(s *record.Series) *proto.Series {
	out := &proto.Series{Type: s.Type, Name: s.Name}
	for _, m := range s.Measurements {
		out.KeyA = append(out.KeyA, m.Key.A)
		out.KeyB = append(out.KeyB, m.Key.B)
		out.StartNs = append(out.StartNs, m.StartNS)
		out.DurationNs = append(out.DurationNs, m.DurationNS)
	}
	return out
}

func evaluation(e record.Evaluation) *proto.Evaluation {
	out := &proto.Evaluation{
		Epoch:   int32(e.Epoch), // #nosec G115 -- a count of epochs, which the core sent as an int32
		Samples: int64(e.Samples), LossSum: e.LossSum,
	}
	if e.Correct != nil {
		correct := int64(*e.Correct)
		out.Correct = &correct
	}
	for _, b := range e.Bins {
		out.Bins = append(out.Bins, b.Bin)
		out.Positives = append(out.Positives, int64(b.Positives))
		out.Negatives = append(out.Negatives, int64(b.Negatives))
	}
	return out
}
