package run

import (
	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// seat is a process of the run: a rank, the data process or a companion.
type seat struct {
	name       string
	rank       int // of the rank that it belongs to; -1 for data
	position   int // of a server among the servers
	kind       sdk.Kind
	part       config.Part
	trainer    *seat              // of a companion
	companions map[sdk.Kind]*seat // of a trainer

	// known once it runs
	process    *launch.Process
	address    string // for data batches and companions
	link       string // for the hook's links
	model      *proto.ModelDescription
	table      *proto.Table     // of a server of tables
	plan       *proto.PlanReply // of a trainer
	facts      map[string]string
	boundaries map[string]int64
	collected  collected
}

// seats are all processes of a run.
type seats struct {
	data     *seat
	trainers []*seat
	servers  []*seat
	all      []*seat // data, each trainer followed by its companions, servers
}

// place decides which process holds which part. A hook, criterion or model
// gets a companion process if the user asked for it or if the trainer's plugin does
// not have it.
func place(e *config.Experiment) seats {
	var s seats
	s.data = &seat{name: "data", rank: -1, kind: sdk.KindData, part: e.Parts[sdk.KindData]}
	s.all = append(s.all, s.data)
	for _, rank := range e.World.TrainerRanks() {
		t := &seat{
			name: e.World.Name(rank), rank: rank, kind: sdk.KindTrainer, part: e.Parts[sdk.KindTrainer],
			companions: map[sdk.Kind]*seat{},
		}
		s.trainers = append(s.trainers, t)
		s.all = append(s.all, t)
		for _, kind := range sdk.Isolable {
			part := e.Parts[kind]
			if !e.Isolate[kind] && t.part.Plugin.Has(part.Plugin.Name) {
				continue
			}
			c := &seat{name: t.name + "." + string(kind), rank: rank, kind: kind, part: part, trainer: t}
			t.companions[kind] = c
			s.all = append(s.all, c)
		}
	}
	for i, rank := range e.World.ServerRanks() {
		v := &seat{name: e.World.Name(rank), rank: rank, position: i, kind: sdk.KindServer, part: e.Parts[sdk.KindServer]}
		s.servers = append(s.servers, v)
		s.all = append(s.all, v)
	}
	return s
}

// holder is the process that holds a trainer's part of a kind.
func (s *seat) holder(kind sdk.Kind) *seat {
	if c := s.companions[kind]; c != nil {
		return c
	}
	return s
}

// names are those of some processes.
func names(seats []*seat) []string {
	out := make([]string, len(seats))
	for i, s := range seats {
		out[i] = s.name
	}
	return out
}

func (s *seat) peer() *proto.Peer     { return &proto.Peer{Name: s.name, Address: s.address} }
func (s *seat) linkPeer() *proto.Peer { return &proto.Peer{Name: s.name, Address: s.link} }
