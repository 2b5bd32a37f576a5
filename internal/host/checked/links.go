package checked

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// Links wraps links so that k keeps their operations on buckets of these specs. Without a keeper,
// Links returns the links themselves.
func (k *Keeper) Links(l sdk.Links, specs []tensor.BucketSpec) sdk.Links {
	if k == nil {
		return l
	}
	if l.Server != nil {
		l.Server = &server{l.Server, k.link(sdk.LinkServer, specs, 1)}
	}
	if l.Group != nil {
		l.Group = &group{l.Group, k.link(sdk.LinkGroup, specs, l.Group.Size())}
	}
	if l.Default != nil {
		l.Default = &group{l.Default, k.link(sdk.LinkDefault, specs, l.Default.Size())}
	}
	return l
}

// LinkHook is the link name in exchanges that record everything a hook does to a bucket.
const LinkHook = "hook"

// Hook wraps a hook that computes the mean or the sum of all trainers' gradients, so that k keeps
// slices of its inputs and results. Without a keeper, Hook returns the hook itself. Hook also does
// so if the hook declares neither mean nor sum.
func (k *Keeper) Hook(h sdk.Hook, answers sdk.Answers, specs []tensor.BucketSpec) sdk.Hook {
	operations := map[sdk.Answers]record.Operation{sdk.AnswersMean: record.Average, sdk.AnswersSum: record.AllReduce}
	if k == nil || operations[answers] == 0 {
		return h
	}
	return &hook{h, operations[answers], k.link(LinkHook, specs, 1)}
}

type hook struct {
	sdk.Hook
	operation record.Operation
	link      *link
}

func (h *hook) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	kept := h.link.begin(h.operation, state.Batch(), b, 0)
	return after(h.Hook.Reduce(state, b), kept)
}

// link is the keeper's state for one link. Operations of a link start one at a time.
type link struct {
	keeper  *Keeper
	name    string
	specs   []tensor.BucketSpec
	members int
	started []int // operations started in the pass, by bucket
}

func (k *Keeper) link(name sdk.Link, specs []tensor.BucketSpec, members int) *link {
	l := &link{keeper: k, name: string(name), specs: specs, members: members, started: make([]int, len(specs))}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.links = append(k.links, l)
	return l
}

// number returns the number of an operation on a bucket. number returns false if the link does not
// have the bucket.
func (l *link) number(batch int64, bucket int) (int, bool) {
	if bucket < 0 || bucket >= len(l.started) || batch < 0 {
		return 0, false
	}
	l.started[bucket]++
	return l.started[bucket] - 1, true
}

// after makes s record the result of the operation f.
func after(f *comm.Future, s *slot) *comm.Future {
	if s != nil {
		f.Then(s)
	}
	return f
}

type server struct {
	comm.PushPuller
	link *link
}

func (s *server) PushPull(batch int64, b *tensor.Bucket) *comm.Future {
	kept := s.link.begin(record.PushPull, batch, b, 0)
	return after(s.PushPuller.PushPull(batch, b), kept)
}

type group struct {
	comm.Group
	link *link
}

func (g *group) AllReduce(batch int64, b *tensor.Bucket) *comm.Future {
	kept := g.link.begin(record.AllReduce, batch, b, 0)
	return after(g.Group.AllReduce(batch, b), kept)
}

func (g *group) Average(batch int64, b *tensor.Bucket) *comm.Future {
	kept := g.link.begin(record.Average, batch, b, 0)
	return after(g.Group.Average(batch, b), kept)
}

func (g *group) Broadcast(batch int64, b *tensor.Bucket, root int) *comm.Future {
	kept := g.link.begin(record.Broadcast, batch, b, root)
	return after(g.Group.Broadcast(batch, b, root), kept)
}

func (g *group) ReduceScatter(batch int64, b *tensor.Bucket) *comm.Future {
	kept := g.link.begin(record.ReduceScatter, batch, b, 0)
	return after(g.Group.ReduceScatter(batch, b), kept)
}

func (g *group) AllGather(batch int64, b *tensor.Bucket) *comm.Future {
	kept := g.link.begin(record.AllGather, batch, b, 0)
	return after(g.Group.AllGather(batch, b), kept)
}

func (g *group) AllToAll(batch int64, b *tensor.Bucket) *comm.Future {
	kept := g.link.begin(record.AllToAll, batch, b, 0)
	return after(g.Group.AllToAll(batch, b), kept)
}
