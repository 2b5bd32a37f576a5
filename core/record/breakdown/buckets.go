package breakdown

import (
	"slices"

	"github.com/psbench/psbench/core/record/result"
)

// Bucket divides the time of one bucket's reductions into parts, summed over all trainers.
type Bucket struct {
	Index int
	Count int // number of reductions; each trainer counts its own
	// These are the sums of the parts of an Exchange.
	HookNS, WaitingNS, TransferNS, ReductionNS int64
	// CodecNS is the time that hooks recorded for encoding and decoding, in any part of the iteration.
	CodecNS int64
}

// WholeNS returns the time from the calls of the hooks until the results are available.
func (b Bucket) WholeNS() int64 { return b.HookNS + b.WaitingNS + b.TransferNS + b.ReductionNS }

// Buckets returns the buckets that hooks measured, in order.
func Buckets(r *result.Result) []Bucket {
	all := make([]Bucket, len(r.Buckets))
	of := func(index int64) *Bucket {
		if index < 0 || index >= int64(len(all)) {
			return &Bucket{} // the plugin numbers its buckets differently
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

// CodecNS returns the time that the hooks of all trainers recorded for encoding and decoding.
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
