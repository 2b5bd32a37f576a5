package convert

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk/proto"
)

var passes = map[record.Pass]proto.Pass{record.WarmUp: proto.Pass_PASS_WARM_UP,
	record.Measured: proto.Pass_PASS_MEASURED}

// PassToProto converts a pass to its gRPC value.
func PassToProto(p record.Pass) proto.Pass { return passes[p] }

// PassFromProto is the inverse of PassToProto.
func PassFromProto(p proto.Pass) record.Pass {
	for pass, code := range passes {
		if code == p {
			return pass
		}
	}
	return record.NoPass
}

// PieceToProto converts a piece of a record to a gRPC message.
func PieceToProto(piece record.Piece) *proto.CollectReply {
	out := &proto.CollectReply{}
	switch p := piece.(type) {
	case *record.Series:
		out.Piece = &proto.CollectReply_Series{
			Series: &proto.Series{Type: p.Type, Name: p.Name, Measurements: p.Measurements.Bytes()},
		}
	case *record.Counter:
		out.Piece = &proto.CollectReply_Counter{Counter: &proto.Counter{Head: headToProto(p.Head), Value: p.Value}}
	case *record.Gauge:
		out.Piece = &proto.CollectReply_Gauge{
			Gauge: &proto.Gauge{Head: headToProto(p.Head), Observations: p.Observations.Bytes()},
		}
	case *record.Histogram:
		out.Piece = &proto.CollectReply_Histogram{
			Histogram: &proto.Histogram{Head: headToProto(p.Head), Bounds: p.Bounds, Counts: p.Counts, Nan: p.NaN},
		}
	case record.Facts:
		out.Piece = &proto.CollectReply_Facts{Facts: &proto.Facts{Values: p}}
	case record.Losses:
		out.Piece = &proto.CollectReply_Losses{Losses: &proto.Losses{Values: p}}
	case *record.Work:
		out.Piece = &proto.CollectReply_Work{Work: WorkToProto(p)}
	case *record.Evaluation:
		out.Piece = &proto.CollectReply_Evaluation{Evaluation: evaluationToProto(p)}
	case *record.NonFinite:
		out.Piece = &proto.CollectReply_NonFinite{NonFinite: &proto.NonFinite{
			Epoch: p.Epoch, Batch: p.Batch, Loss: p.Loss, Losses: p.Losses, Parameter: p.Parameter,
			Gradient: p.Gradient,
		}}
	case *record.Replica:
		out.Piece = &proto.CollectReply_Replica{Replica: &proto.Replica{Checksums: p.Checksums}}
	case *record.Summary:
		out.Piece = &proto.CollectReply_Parameter{Parameter: &proto.ParameterSummary{
			Name: p.Name, Elements: int64(p.Elements), DeltaSum: p.DeltaSum, DeltaSumsq: p.DeltaSumSq,
			DeltaHead: p.DeltaHead, Head: p.Head,
		}}
	case *record.Exchange:
		out.Piece = &proto.CollectReply_Exchange{Exchange: exchangeToProto(p)}
	case *record.Checked:
		out.Piece = &proto.CollectReply_Checked{Checked: &proto.Checked{SpentNs: p.SpentNS, Operations: p.Operations}}
	case record.PeakRSS:
		out.Piece = &proto.CollectReply_PeakRssBytes{PeakRssBytes: int64(p)}
	}
	return out
}

// PieceFromProto is the inverse of PieceToProto. An error of PieceFromProto says why a message is
// not a valid piece of a record.
func PieceFromProto(reply *proto.CollectReply) (record.Piece, error) {
	switch p := reply.GetPiece().(type) {
	case *proto.CollectReply_Series:
		return seriesFromProto(p.Series)
	case *proto.CollectReply_Counter:
		return counterFromProto(p.Counter)
	case *proto.CollectReply_Gauge:
		return gaugeFromProto(p.Gauge)
	case *proto.CollectReply_Histogram:
		return histogramFromProto(p.Histogram)
	case *proto.CollectReply_Facts:
		return record.Facts(p.Facts.GetValues()), nil
	case *proto.CollectReply_Losses:
		return record.Losses(p.Losses.GetValues()), nil
	case *proto.CollectReply_Work:
		return new(WorkFromProto(p.Work)), nil
	case *proto.CollectReply_Evaluation:
		return evaluationFromProto(p.Evaluation)
	case *proto.CollectReply_NonFinite:
		q := p.NonFinite
		return &record.NonFinite{
			Epoch: q.GetEpoch(), Batch: q.GetBatch(), Loss: q.GetLoss(), Losses: q.GetLosses(),
			Parameter: q.GetParameter(), Gradient: q.GetGradient(),
		}, nil
	case *proto.CollectReply_Replica:
		return &record.Replica{Checksums: p.Replica.GetChecksums()}, nil
	case *proto.CollectReply_Parameter:
		q := p.Parameter
		return &record.Summary{
			Name: q.GetName(), Elements: int(q.GetElements()), DeltaSum: q.GetDeltaSum(), DeltaSumSq: q.GetDeltaSumsq(),
			DeltaHead: q.GetDeltaHead(), Head: q.GetHead(),
		}, nil
	case *proto.CollectReply_Exchange:
		return exchangeFromProto(p.Exchange)
	case *proto.CollectReply_Checked:
		return &record.Checked{SpentNS: p.Checked.GetSpentNs(), Operations: p.Checked.GetOperations()}, nil
	case *proto.CollectReply_PeakRssBytes:
		return record.PeakRSS(p.PeakRssBytes), nil
	default:
		return nil, errors.New("nothing where a piece of its record belongs")
	}
}

// WorkToProto converts a trainer's work in a pass to a gRPC message; nil stays nil.
func WorkToProto(w *record.Work) *proto.Work {
	if w == nil {
		return nil
	}
	return &proto.Work{StartNs: w.StartNS, EndNs: w.EndNS, EvaluatedNs: w.EvaluatedNS, Samples: w.Samples}
}

// WorkFromProto is the inverse of WorkToProto; nil becomes a zero Work.
func WorkFromProto(w *proto.Work) record.Work {
	return record.Work{StartNS: w.GetStartNs(), EndNS: w.GetEndNs(), EvaluatedNS: w.GetEvaluatedNs(),
		Samples: w.GetSamples()}
}

func seriesFromProto(s *proto.Series) (record.Piece, error) {
	measurements, err := packed.ChunkOf[packed.Measurement](s.GetMeasurements())
	if err != nil {
		return nil, fmt.Errorf("a series %s, %s that cannot be: %w", quote.Word(s.GetType()), quote.Word(s.GetName()),
			err)
	}
	return &record.Series{Type: s.GetType(), Name: s.GetName(), Measurements: measurements}, nil
}

func evaluationToProto(e *record.Evaluation) *proto.Evaluation {
	out := &proto.Evaluation{
		Epoch:   int32(e.Epoch), // #nosec G115 -- a count of epochs, which the core sent as an int32
		Samples: int64(e.Samples), LossSum: e.LossSum,
	}
	if e.Correct != nil {
		out.Correct = new(int64(*e.Correct))
	}
	for _, b := range e.Bins {
		out.Bins = append(out.Bins, b.Bin)
		out.Positives = append(out.Positives, b.Positives)
		out.Negatives = append(out.Negatives, b.Negatives)
	}
	return out
}

func evaluationFromProto(e *proto.Evaluation) (record.Piece, error) {
	n := len(e.GetBins())
	if len(e.GetPositives()) != n || len(e.GetNegatives()) != n {
		return nil, fmt.Errorf("an invalid evaluation: epoch %d has columns of unequal length", e.GetEpoch())
	}
	out := &record.Evaluation{Epoch: int(e.GetEpoch()), Samples: int(e.GetSamples()), LossSum: e.GetLossSum()}
	if e.Correct != nil {
		out.Correct = new(int(e.GetCorrect()))
	}
	for i, bin := range e.GetBins() {
		out.Bins = append(out.Bins,
			record.Bin{Bin: bin, Positives: e.GetPositives()[i], Negatives: e.GetNegatives()[i]})
	}
	return out, nil
}

// IterationsToProto converts a trainer's finished iterations to a gRPC message.
func IterationsToProto(i record.Iterations) *proto.Iterations {
	return &proto.Iterations{Done: i.Done, Loss: i.Loss, Pass: PassToProto(i.Pass)}
}

// IterationsFromProto is the inverse of IterationsToProto.
func IterationsFromProto(i *proto.Iterations) record.Iterations {
	return record.Iterations{Pass: PassFromProto(i.GetPass()), Done: i.GetDone(), Loss: i.GetLoss()}
}
