package convert

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// TrafficToProto converts a traffic plan to gRPC messages.
func TrafficToProto(t sdk.Traffic) (out []*proto.Rounds) {
	for _, rounds := range t {
		bucket := &proto.Rounds{}
		for _, round := range rounds {
			r := &proto.Round{}
			for _, o := range round {
				r.Operations = append(r.Operations, &proto.Operation{
					Kind: string(o.Kind), Type: string(o.Type), Elements: int64(o.Elements),
					Root: int32(o.Root), // #nosec G115 -- a position, which the plan's check has bounded
				})
			}
			bucket.Rounds = append(bucket.Rounds, r)
		}
		out = append(out, bucket)
	}
	return out
}

// TrafficFromProto is the inverse of TrafficToProto. An empty plan becomes nil.
func TrafficFromProto(buckets []*proto.Rounds) (t sdk.Traffic) {
	for _, bucket := range buckets {
		var rounds []sdk.Round
		for _, r := range bucket.GetRounds() {
			round := sdk.Round{}
			for _, o := range r.GetOperations() {
				round = append(round, sdk.Operation{
					Kind: sdk.OperationKind(o.GetKind()), Type: tensor.Type(o.GetType()),
					Elements: int(o.GetElements()), Root: int(o.GetRoot()),
				})
			}
			rounds = append(rounds, round)
		}
		t = append(t, rounds)
	}
	return t
}
