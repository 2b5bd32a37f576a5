package bench

import "github.com/psbench/psbench/comm/tensor"

// ReduceScatter leaves each trainer its shard of the sum over all of them.
var ReduceScatter = &Operation{
	Name: "reducescatter", Dense: true,
	Run: func(l Links, round int64, b *tensor.Bucket) error {
		return l.Group.ReduceScatter(round, b).Wait()
	},
	Expect: func(r Round) []Part {
		from, to := tensor.Shard(r.Elements, r.Trainers, r.Rank)
		return []Part{{From: from, To: to, Source: from, Ranks: r.All()}}
	},
	Volume: func(c Case) Volume {
		return c.scattered((c.trainers()+1)*c.size(), 1) // all are read, one sum is written
	},
	Bandwidths: [2]string{"algbw = S/p50; busbw = (T-1)/T*S/p50, what a member of a ring sends"},
	Moves:      "(T+1)*S",
}
