// Package convert translates between Go types and the gRPC messages of core and plugins.
package convert

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// BucketsToProto converts bucket specs to gRPC messages.
func BucketsToProto(specs []tensor.BucketSpec) []*proto.Bucket {
	out := make([]*proto.Bucket, len(specs))
	for i, s := range specs {
		b := &proto.Bucket{
			Elements: int64(s.Elements), Type: string(s.Type), Sparse: s.Sparse,
			TableRows: int64(s.TableRows), Width: int64(s.Width), Capacity: int64(s.Capacity),
		}
		for _, p := range s.Parameters {
			b.Parameters = append(b.Parameters, &proto.Span{
				Parameter: int32(p.Parameter), // #nosec G115 -- a model has far fewer parameters
				Offset:    int64(p.Offset), Elements: int64(p.Elements),
			})
		}
		out[i] = b
	}
	return out
}

// BucketsFromProto is the inverse of BucketsToProto.
func BucketsFromProto(buckets []*proto.Bucket) []tensor.BucketSpec {
	out := make([]tensor.BucketSpec, len(buckets))
	for i, b := range buckets {
		s := tensor.BucketSpec{
			Index: i, Elements: int(b.GetElements()), Type: tensor.Type(b.GetType()), Sparse: b.GetSparse(),
			TableRows: int(b.GetTableRows()), Width: int(b.GetWidth()), Capacity: int(b.GetCapacity()),
		}
		for _, p := range b.GetParameters() {
			s.Parameters = append(s.Parameters, tensor.Span{
				Parameter: int(p.GetParameter()), Offset: int(p.GetOffset()), Elements: int(p.GetElements()),
			})
		}
		out[i] = s
	}
	return out
}

// ModelToProto converts a model's description to a gRPC message.
func ModelToProto(m layout.Model) *proto.ModelDescription {
	d := &proto.ModelDescription{Inputs: InputsToProto(m.Inputs), FeatureGradient: m.FeatureGradient, Steps: m.Steps,
		Evaluates: m.Evaluates}
	for _, p := range m.Parameters {
		q := &proto.Parameter{Name: p.Name, Sparse: p.Sparse}
		for _, n := range p.Shape {
			q.Shape = append(q.Shape, int64(n))
		}
		d.Parameters = append(d.Parameters, q)
	}
	return d
}

// ModelFromProto is the inverse of ModelToProto.
func ModelFromProto(d *proto.ModelDescription) layout.Model {
	m := layout.Model{Inputs: InputsFromProto(d.GetInputs()), FeatureGradient: d.GetFeatureGradient(),
		Steps: d.GetSteps(), Evaluates: d.GetEvaluates()}
	for _, q := range d.GetParameters() {
		p := sdk.ParameterSpec{Name: q.GetName(), Sparse: q.GetSparse()}
		for _, n := range q.GetShape() {
			p.Shape = append(p.Shape, int(n))
		}
		m.Parameters = append(m.Parameters, p)
	}
	return m
}

// InputsToProto converts the limits of samples to a gRPC message.
func InputsToProto(in sdk.InputSpec) *proto.Inputs {
	out := &proto.Inputs{
		Rows: int64(in.Rows), Classes: int64(in.Classes), Features: int64(in.Features),
		Targets:  int64(max(1, in.Targets)),
		LookedUp: int64(in.LookedUp), Outputs: int64(in.Outputs), BagLength: int64(in.BagLength),
	}
	for _, rows := range in.Tables {
		out.Tables = append(out.Tables, int64(rows))
	}
	return out
}

// InputsFromProto is the inverse of InputsToProto.
func InputsFromProto(in *proto.Inputs) sdk.InputSpec {
	out := sdk.InputSpec{
		Rows: int(in.GetRows()), Classes: int(in.GetClasses()), Features: int(in.GetFeatures()),
		Targets:  int(in.GetTargets()),
		LookedUp: int(in.GetLookedUp()), Outputs: int(in.GetOutputs()), BagLength: int(in.GetBagLength()),
	}
	for _, rows := range in.GetTables() {
		out.Tables = append(out.Tables, int(rows))
	}
	return out
}

// TableToProto converts the size of a table to a gRPC message.
func TableToProto(t comm.TableSpec) *proto.Table {
	return &proto.Table{Rows: int64(t.Rows), Width: int64(t.Width)}
}

// TableFromProto is the inverse of TableToProto.
func TableFromProto(t *proto.Table) comm.TableSpec {
	return comm.TableSpec{Rows: int(t.GetRows()), Width: int(t.GetWidth())}
}

// TablesToProto converts the sizes of tables to gRPC messages.
func TablesToProto(tables []comm.TableSpec) []*proto.Table {
	var out []*proto.Table
	for _, t := range tables {
		out = append(out, TableToProto(t))
	}
	return out
}

// TablesFromProto is the inverse of TablesToProto.
func TablesFromProto(tables []*proto.Table) []comm.TableSpec {
	var out []comm.TableSpec
	for _, t := range tables {
		out = append(out, TableFromProto(t))
	}
	return out
}

// LookupToProto converts the tables that trainers look up to a gRPC message. l is nil if servers
// hold no tables; nil stays nil.
func LookupToProto(l *comm.LookupSpec) *proto.Lookup {
	if l == nil {
		return nil
	}
	return &proto.Lookup{Tables: TablesToProto(l.Tables), Bags: int64(l.Bags), Indices: int64(l.Indices)}
}

// LookupFromProto is the inverse of LookupToProto.
func LookupFromProto(l *proto.Lookup) *comm.LookupSpec {
	if l == nil {
		return nil
	}
	return &comm.LookupSpec{Tables: TablesFromProto(l.GetTables()), Bags: int(l.GetBags()),
		Indices: int(l.GetIndices())}
}

// PeerToProto converts the address of a process to a gRPC message.
func PeerToProto(p process.Peer) *proto.Peer {
	return &proto.Peer{Name: p.Name, Address: p.Address, Protocol: p.Protocol}
}

// PeerFromProto is the inverse of PeerToProto.
func PeerFromProto(p *proto.Peer) process.Peer {
	return process.Peer{Name: p.GetName(), Address: p.GetAddress(), Protocol: p.GetProtocol()}
}

// GroupToProto converts a group whose members share one host to a gRPC message; nil stays nil.
func GroupToProto(g *process.Group) *proto.Group {
	if g == nil {
		return nil
	}
	out := &proto.Group{Position: int32(g.Position)} // #nosec G115 -- a count of processes
	for _, m := range g.Members {
		out.Members = append(out.Members, PeerToProto(m))
	}
	return out
}

var causes = map[fault.Cause]proto.Failure_Cause{fault.Wait: proto.Failure_CAUSE_WAIT,
	fault.Peer: proto.Failure_CAUSE_PEER}

// FailureToProto converts a failure to a gRPC message.
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
