package bench

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// AllReduce gives all trainers the sum over all of them.
var AllReduce = &Operation{
	Name: "allreduce",
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
			v.Moved = (t+3)*t*c.size() + c.copies() // each copies its own, reads all and writes the sum
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
