package breakdown

import (
	"slices"

	"github.com/psbench/psbench/core/record/result"
)

// Bucket is where the time of the reductions of one bucket goes, on all trainers together.
type Bucket struct {
	Index int
	Count int // reductions that trainers saw
	// The parts of an Exchange, added up.
	HookNS, WaitingNS, TransferNS, ReductionNS int64
	// CodecNS is what hooks stamped of encoding and decoding, wherever in an iteration that is.
	CodecNS int64
}

// WholeNS is the time from the calls of hooks until results are there.
func (b Bucket) WholeNS() int64 { return b.HookNS + b.WaitingNS + b.TransferNS + b.ReductionNS }

// Buckets are those that hooks stamped, in their order.
func Buckets(r *result.Result) []Bucket {
	all := make([]Bucket, len(r.Buckets))
	of := func(index int64) *Bucket {
		if index < 0 || index >= int64(len(all)) {
			return &Bucket{} // of a plugin that counts otherwise
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

// CodecNS is what hooks stamped of encoding and decoding, on all trainers.
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
