package convert

import (
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/sdk/proto"
)

var causes = map[fault.Cause]proto.Failure_Cause{fault.Wait: proto.Failure_CAUSE_WAIT, fault.Peer: proto.Failure_CAUSE_PEER}

// FailureToProto gives a failure the form in which it crosses gRPC.
func FailureToProto(f fault.Failure) *proto.Failure {
	return &proto.Failure{Cause: causes[f.Cause], Message: f.Message, About: f.About}
}

// FailureFromProto is the inverse of FailureToProto.
func FailureFromProto(f *proto.Failure) fault.Failure {
	out := fault.Failure{Message: f.GetMessage(), About: f.GetAbout()}
	for cause, code := range causes {
		if code == f.GetCause() {
			out.Cause = cause
		}
	}
	return out
}
