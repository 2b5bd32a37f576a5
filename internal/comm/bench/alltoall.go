package bench

import "github.com/psbench/psbench/comm/tensor"

// AllToAll has each trainer give each other one a block of its own.
var AllToAll = &Operation{
	Name: "alltoall", Dense: true,
	Run: func(l Links, round int64, b *tensor.Bucket) error {
		return l.Group.AllToAll(round, b).Wait()
	},
	Expect: func(r Round) []Part {
		parts := make([]Part, r.Trainers)
		source, _ := tensor.Block(r.Elements, r.Trainers, r.Rank)
		for rank := range parts {
			from, to := tensor.Block(r.Elements, r.Trainers, rank)
			parts[rank] = Part{From: from, To: to, Source: source, Ranks: []int{rank}}
		}
		_, end := tensor.Block(r.Elements, r.Trainers, r.Trainers-1)
		return append(parts, Part{From: end, To: r.Elements, Source: end, Ranks: []int{r.Rank}})
	},
	Volume: func(c Case) Volume {
		return c.scattered(2*(c.trainers()-1)*c.size(), c.trainers()/2) // pairs change places
	},
	Bandwidths: [2]string{"algbw = S/p50; busbw = (T-1)/T*S/p50, what each must send to others"},
	Moves:      "2(T-1)*S",
}
