package bench

import "github.com/psbench/psbench/comm/tensor"

// AllGather gives all trainers the shards of all of them.
var AllGather = &Operation{
	Name: "allgather", Dense: true,
	Run: func(l Links, round int64, b *tensor.Bucket) error {
		return l.Group.AllGather(round, b).Wait()
	},
	Expect: func(r Round) []Part {
		parts := make([]Part, r.Trainers)
		for rank := range parts {
			from, to := tensor.Shard(r.Elements, r.Trainers, rank)
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
