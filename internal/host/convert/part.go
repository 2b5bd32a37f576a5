package convert

import (
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// timings maps each Timing to its value in gRPC messages.
var timings = map[sdk.Timing]proto.Timing{
	sdk.OnArrival: proto.Timing_TIMING_ON_ARRIVAL, sdk.OnLastArrival: proto.Timing_TIMING_ON_LAST_ARRIVAL,
}

// PartToProto converts a plugin's description of a part to a gRPC message.
func PartToProto(p sdk.Part) *proto.PartDescription {
	out := &proto.PartDescription{
		Kind: string(p.Kind), Key: p.Key, Serves: string(p.Serves), Needs: string(p.Needs),
		Timing: timings[p.Timing], Computes: p.Computes, Asynchronous: p.Asynchronous, Quorum: p.Quorum,
		Protocol: p.Protocol, Adds: p.Adds, Plans: p.Plans,
		RanksDiffer: p.RanksDiffer, Answers: string(p.Answers),
		Targets:    string(p.Targets),
		Stochastic: p.Stochastic, SmallestBatch: int64(p.SmallestBatch),
	}
	for _, link := range p.Links {
		out.Links = append(out.Links, string(link))
	}
	for _, s := range p.Settings {
		out.Settings = append(out.Settings,
			&proto.SettingDescription{Name: s.Name, Type: s.Type, DefaultJson: s.Default, Doc: s.Doc})
	}
	return out
}

// PartFromProto is the inverse of PartToProto. The result cannot be built: the build function stays in its plugin.
func PartFromProto(d *proto.PartDescription) sdk.Part {
	out := sdk.Part{
		Kind: sdk.Kind(d.GetKind()), Key: d.GetKey(), Serves: sdk.Service(d.GetServes()),
		Needs:    sdk.Service(d.GetNeeds()),
		Computes: d.GetComputes(), Asynchronous: d.GetAsynchronous(), Quorum: d.GetQuorum(), Protocol: d.GetProtocol(),
		Adds: d.GetAdds(), Plans: d.GetPlans(),
		RanksDiffer: d.GetRanksDiffer(), Answers: sdk.Answers(d.GetAnswers()),
		Targets:    sdk.TargetKind(d.GetTargets()),
		Stochastic: d.GetStochastic(), SmallestBatch: int(d.GetSmallestBatch()),
	}
	for timing, sent := range timings {
		if sent == d.GetTiming() {
			out.Timing = timing
		}
	}
	for _, link := range d.GetLinks() {
		out.Links = append(out.Links, sdk.Link(link))
	}
	for _, s := range d.GetSettings() {
		out.Settings = append(out.Settings,
			sdk.Setting{Name: s.GetName(), Type: s.GetType(), Default: s.GetDefaultJson(), Doc: s.GetDoc()})
	}
	return out
}
