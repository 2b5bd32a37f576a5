package breakdown

import (
	"slices"

	"github.com/psbench/psbench/core/record/result"
)

// Bucket divides the time of the reductions of one bucket, over all trainers.
type Bucket struct {
	Index int
	Count int // reductions, counted on each trainer
	// The sums of the parts of an Exchange.
	HookNS, WaitingNS, TransferNS, ReductionNS int64
	// CodecNS is the time for encoding and decoding that hooks stamped, in any part of the iteration.
	CodecNS int64
}

// WholeNS returns the time from the calls of hooks until the results are there.
func (b Bucket) WholeNS() int64 { return b.HookNS + b.WaitingNS + b.TransferNS + b.ReductionNS }

// Buckets returns the buckets that hooks stamped, in their order.
func Buckets(r *result.Result) []Bucket {
	all := make([]Bucket, len(r.Buckets))
	of := func(index int64) *Bucket {
		if index < 0 || index >= int64(len(all)) {
			return &Bucket{} // a plugin numbers its buckets in another way
		}
		return &all[index]
	}
	for e := range Exchanges(r) {
		b := of(e.Key.B)
		b.Count++
		b.HookNS, b.WaitingNS, b.TransferNS, b.ReductionNS = b.HookNS+e.HookNS, b.WaitingNS+e.WaitingNS, b.TransferNS+
			e.TransferNS, b.ReductionNS+e.ReductionNS
	}
	for _, p := range r.Processes {
		if p.Kind == "trainer" {
			for m := range ofType(r, p.Rank, CodecMetric) {
				of(m.Key.B).CodecNS += m.DurationNS
			}
		}
	}
	for i := range all {
		all[i].Index = i
	}
	return slices.DeleteFunc(all, func(b Bucket) bool { return b.Count == 0 && b.CodecNS == 0 })
}

// CodecNS returns the time for encoding and decoding that hooks stamped on all trainers.
func CodecNS(r *result.Result) (ns int64) {
	for _, p := range r.Processes {
		if p.Kind == "trainer" {
			for m := range ofType(r, p.Rank, CodecMetric) {
				ns += m.DurationNS
			}
		}
	}
	return ns
}
