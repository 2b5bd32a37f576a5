package bench

import "github.com/psbench/psbench/comm/tensor"

// PushPull sends each trainer's gradient to its server and waits for the
// answer.
var PushPull = &Operation{
	Name: "pushpull", Served: true, Types: single,
	Run: func(l Links, round int64, b *tensor.Bucket) error {
		return l.Server.PushPull(round, b).Wait()
	},
	Expect: func(r Round) []Part { return r.whole(r.Partners...) },
	Volume: func(c Case) Volume {
		pushed, answered := c.reduced(c.Trainers / c.Servers)
		v := Volume{Alg: pushed + answered}
		v.Bus = c.trainers() * v.Alg
		v.Received = v.Bus
		if c.Elementwise {
			v.Moved = c.copies()
			if c.Trainers > c.Servers {
				v.Moved += 2 * c.trainers() * c.size() // a sum reads both and writes one; one answer each
			}
		}
		return v
	},
	Bandwidths: [2]string{
		"algbw = 2S/p50, what one trainer pushes and pulls; busbw = T*algbw, what all do",
		"algbw = (P+U)/p50, what one trainer pushes and pulls; busbw = T*algbw, what all do",
	},
	Moves: "2T*S with servers whose work is elementwise, if one has two trainers or more",
}
