package micro

import (
	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/sdk/proto"
)

// planned stores the plan of the hook that a process holds.
func (p *process) planned(reply *proto.PlanReply) {
	p.traffic = convert.TrafficFromProto(reply.GetTraffic())
}

// timingsOf returns the measurements of a rank.
func timingsOf(reply *proto.MeasureReply) timings {
	t := timings{mismatch: reply.GetMismatch(), unchecked: reply.GetUnchecked()}
	for _, ns := range reply.GetLatencyNs() {
		t.latenciesUS = append(t.latenciesUS, float64(ns)/1e3)
	}
	return t
}
