package bench

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// Reducer is a hook with the method that a round calls.
type Reducer interface {
	Reduce(round int64, b *tensor.Bucket) *comm.Future
}

// Hook lets each trainer's hook reduce a bucket over the hook's own links. Only
// the hook knows its volume, so psbench reports the volume of an all-reduce,
// for comparison.
var Hook = &Operation{
	Name: "hook", Hooked: true, Types: single,
	Run: func(l Links, round int64, b *tensor.Bucket) error {
		return l.Hook.Reduce(round, b).Wait()
	},
	Expect: func(r Round) []Part { return r.whole(r.Reduced...) },
	Volume: func(c Case) Volume {
		v := AllReduce.Volume(c)
		return Volume{Alg: v.Alg, Bus: v.Bus}
	},
	Bandwidths: [2]string{
		"algbw = S/p50; busbw = 2(T-1)/T*S/p50, as of an all-reduce",
		"algbw = U/p50; busbw = (T-1)*P/p50, as of an all-reduce",
	},
}
