package bench

import "github.com/psbench/psbench/comm/tensor"

// Broadcast gives all trainers what one of them has: the root, which moves on with each
// round.
var Broadcast = &Operation{
	Name: "broadcast",
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
