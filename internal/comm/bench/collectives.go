package bench

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// AllReduce gives all trainers the sum over all of them.
var AllReduce = &Operation{
	Name: "allreduce", Types: summed,
	Run: func(l Links, round int64, b *tensor.Bucket) error {
		return l.Group.AllReduce(round, b).Wait()
	},
	Expect: func(r Round) []Part { return r.whole(r.All()...) },
	Volume: func(c Case) Volume {
		t := c.trainers()
		before, after := c.reduced(c.Trainers)
		v := Volume{Alg: after, Bus: 2 * (t - 1) / t * before}
		if c.Sparse {
			v.Bus = (t - 1) * before
		}
		v.Received = t * v.Bus
		switch {
		case c.Trainers == 1: // it ends at once
		case c.Bytes <= comm.EagerBytes:
			v.Moved = (t+3)*t*c.size() + c.copies() // each rank copies its own gradient, reads all and writes the sum
		default:
			v.Moved = 2*t*c.size() + c.copies()
		}
		return v
	},
	Bandwidths: [2]string{
		"algbw = S/p50; busbw = 2(T-1)/T*S/p50, what a member of a ring sends",
		"algbw = U/p50; busbw = (T-1)*P/p50, what a member of a ring sends",
	},
	Moves: "2T*S, up to 16 KiB (T+3)T*S",
}

// ReduceScatter leaves each trainer its shard of the sum over all trainers.
var ReduceScatter = &Operation{
	Name: "reducescatter", Dense: true, Types: summed,
	Run: func(l Links, round int64, b *tensor.Bucket) error {
		return l.Group.ReduceScatter(round, b).Wait()
	},
	Expect: func(r Round) []Part {
		from, to := r.Bucket.Shard(r.Trainers, r.Rank)
		return []Part{{From: from, To: to, Source: from, Ranks: r.All()}}
	},
	Volume: func(c Case) Volume {
		return c.scattered((c.trainers()+1)*c.size(), 1) // reads all gradients and writes one sum
	},
	Bandwidths: [2]string{"algbw = S/p50; busbw = (T-1)/T*S/p50, what a member of a ring sends"},
	Moves:      "(T+1)*S",
}

// AllGather gives every trainer the shards of all trainers.
var AllGather = &Operation{
	Name: "allgather", Dense: true, Types: tensor.Types,
	Run: func(l Links, round int64, b *tensor.Bucket) error {
		return l.Group.AllGather(round, b).Wait()
	},
	Expect: func(r Round) []Part {
		parts := make([]Part, r.Trainers)
		for rank := range parts {
			from, to := r.Bucket.Shard(r.Trainers, rank)
			parts[rank] = Part{From: from, To: to, Source: from, Ranks: []int{rank}}
		}
		return parts
	},
	Volume: func(c Case) Volume {
		return c.scattered(2*(c.trainers()-1)*c.size(), 1)
	},
	Bandwidths: [2]string{"algbw = S/p50; busbw = (T-1)/T*S/p50, what a member of a ring sends"},
	Moves:      "2(T-1)*S",
}

// AllToAll makes each trainer give one of its blocks to each other trainer.
var AllToAll = &Operation{
	Name: "alltoall", Dense: true, Types: tensor.Types,
	Run: func(l Links, round int64, b *tensor.Bucket) error {
		return l.Group.AllToAll(round, b).Wait()
	},
	Expect: func(r Round) []Part {
		parts := make([]Part, r.Trainers)
		source, _ := r.Bucket.Block(r.Trainers, r.Rank)
		for rank := range parts {
			from, to := r.Bucket.Block(r.Trainers, rank)
			parts[rank] = Part{From: from, To: to, Source: source, Ranks: []int{rank}}
		}
		_, end := r.Bucket.Block(r.Trainers, r.Trainers-1)
		return append(parts, Part{From: end, To: r.Bucket.Elements, Source: end, Ranks: []int{r.Rank}})
	},
	Volume: func(c Case) Volume {
		return c.scattered(2*(c.trainers()-1)*c.size(), c.trainers()/2) // pairs swap blocks
	},
	Bandwidths: [2]string{"algbw = S/p50; busbw = (T-1)/T*S/p50: each trainer sends (T-1)/T*S to others"},
	Moves:      "2(T-1)*S",
}

// Broadcast gives all trainers the gradient of the root. Each round uses the
// next trainer as root.
var Broadcast = &Operation{
	Name: "broadcast", Types: tensor.Types,
	Run: func(l Links, round int64, b *tensor.Bucket) error {
		return l.Group.Broadcast(round, b, root(round, l.Group.Size())).Wait()
	},
	Expect: func(r Round) []Part { return r.whole(root(r.Number, r.Trainers)) },
	Volume: func(c Case) Volume {
		size, _ := c.gradient(c.Trainers)
		v := Volume{Alg: size, Bus: size, Received: (c.trainers() - 1) * size}
		if c.Trainers > 1 {
			v.Moved = 2*(c.trainers()-1)*c.size() + c.copies()
		}
		return v
	},
	Bandwidths: [2]string{
		"algbw = busbw = S/p50; the root moves on with each round",
		"algbw = busbw = P/p50; the root moves on with each round",
	},
	Moves: "2(T-1)*S",
}

func root(round int64, trainers int) int { return int(round % int64(trainers)) }

// Barrier makes every trainer wait for all trainers.
var Barrier = &Operation{
	Name: "barrier", Empty: true,
	Run: func(l Links, _ int64, _ *tensor.Bucket) error { return l.Group.Barrier() },
}
