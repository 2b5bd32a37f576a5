package convert

import (
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk/proto"
)

// PeerToProto gives a process to join the form in which it crosses gRPC.
func PeerToProto(p process.Peer) *proto.Peer {
	return &proto.Peer{Name: p.Name, Address: p.Address, Protocol: p.Protocol}
}

// PeerFromProto is the inverse of PeerToProto.
func PeerFromProto(p *proto.Peer) process.Peer {
	return process.Peer{Name: p.GetName(), Address: p.GetAddress(), Protocol: p.GetProtocol()}
}

// GroupToProto gives members of one host, or nil, the form in which they cross gRPC.
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
