package host

import (
	"context"

	"github.com/psbench/psbench/internal/host/bench"
	"github.com/psbench/psbench/sdk/proto"
)

// Measure times rounds of one operation on a bench process.
func (p *service) Measure(_ context.Context, req *proto.MeasureRequest) (*proto.MeasureReply, error) {
	r, leave, err := as[*bench.Role](p, "measure")
	if err != nil {
		return nil, err
	}
	defer leave()
	rounds, err := r.Measure(measureRequest(req))
	if err != nil {
		return nil, asStatus(err)
	}
	return &proto.MeasureReply{LatencyNs: rounds.LatenciesNS, Mismatch: rounds.Mismatch, Unchecked: rounds.Unchecked},
		nil
}

var expectations = map[proto.MeasureRequest_Expect]bench.Expect{
	proto.MeasureRequest_EXPECT_ANY: bench.Anything, proto.MeasureRequest_EXPECT_MEAN: bench.Mean,
	proto.MeasureRequest_EXPECT_SUM: bench.Sum, proto.MeasureRequest_EXPECT_PART: bench.OfPart,
}

func measureRequest(q *proto.MeasureRequest) bench.Request {
	req := bench.Request{
		Operation: q.GetOperation(), Bucket: int(q.GetBucket()), First: q.GetFirst(), Rounds: int(q.GetRounds()),
		Fresh: q.GetFresh(), Copy: q.GetCopy(), Density: q.GetDensity(), Rounded: q.GetRounded(),
		Expect: expectations[q.GetExpect()], Server: expectations[q.GetServer()],
	}
	for _, rank := range q.GetPartners() {
		req.Partners = append(req.Partners, int(rank))
	}
	return req
}
