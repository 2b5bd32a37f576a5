package convert

import (
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/proto"
)

// PeerToProto gives a process to join the form in which it crosses gRPC.
func PeerToProto(p process.Peer) *proto.Peer { return &proto.Peer{Name: p.Name, Address: p.Address} }

// PeerFromProto is the inverse of PeerToProto.
func PeerFromProto(p *proto.Peer) process.Peer {
	return process.Peer{Name: p.GetName(), Address: p.GetAddress()}
}

// PeerOrNil is PeerFromProto of one that may be missing.
func PeerOrNil(p *proto.Peer) *process.Peer {
	if p == nil {
		return nil
	}
	return new(PeerFromProto(p))
}

// PeersFromProto is PeerFromProto of several, in order.
func PeersFromProto(list []*proto.Peer) []process.Peer {
	var out []process.Peer
	for _, p := range list {
		out = append(out, PeerFromProto(p))
	}
	return out
}

// GroupFromProto is the members of a collective.
func GroupFromProto(g *proto.Group) process.Group {
	return process.Group{Members: PeersFromProto(g.GetMembers()), Position: int(g.GetPosition())}
}

// GroupOrNil is GroupFromProto of one that may be missing.
func GroupOrNil(g *proto.Group) *process.Group {
	if g == nil {
		return nil
	}
	return new(GroupFromProto(g))
}

// HookLinksFromProto are the links of a hook.
func HookLinksFromProto(l *proto.HookLinks) process.HookLinks {
	return process.HookLinks{Server: PeerOrNil(l.GetServer()), Group: GroupOrNil(l.GetGroup()), Default: GroupOrNil(l.GetDefault())}
}
