package breakdown

import (
	"cmp"
	"slices"

	"github.com/psbench/psbench/core/record/result"
)

// DeviceMetric is the type of what CUDA ranks measure by events on their devices.
const DeviceMetric = "device_metric"

// Those of its series that are copies between host and device: of buckets, on streams of their own, and of
// what a part needs, between its kernels. And the one in which its kernels wait for others.
var (
	bucketCopies = []string{"device copy out", "device copy in"}
	transfers    = []string{"device transfer in", "device transfer out"}
	exchange     = "device exchange"
)

// IsDeviceWhole says that a series of a device has phases, and the time between them.
func IsDeviceWhole(name string) bool { return name == "device iteration" || name == "device update" }

// Device is what a rank's device did for it during the iterations: a trainer's own, or for a server those
// of any trainer. The device may have worked for other ranks meanwhile.
type Device struct {
	Rank       int
	Name       string // of its process
	Iterations int
	WallNS     int64
	// KernelsNS is in phases of kernels, from the first one to the last one, without the transfers in
	// them and without waiting for gradients of others, but for what a kernel of NCCL waits. CopiesNS is in copies and
	// transfers, BothNS in both at once, and WaitingNS in neither, so that KernelsNS + CopiesNS - BothNS + WaitingNS is
	// WallNS.
	KernelsNS, CopiesNS, BothNS, WaitingNS int64
}

// Devices are those of the ranks that measured theirs, in the order of the processes.
func Devices(r *result.Result) []Device {
	var all []Device
	for _, p := range r.Processes {
		if p.Kind != "trainer" && p.Kind != "server" {
			continue
		}
		var kernels, between, copies []span
		for _, s := range r.Series {
			if s.Rank != p.Rank || s.Type != DeviceMetric || s.Name == exchange || IsDeviceWhole(s.Name) {
				continue
			}
			to := &kernels
			if slices.Contains(transfers, s.Name) {
				to = &between
			} else if slices.Contains(bucketCopies, s.Name) {
				to = &copies
			}
			for m := range s.All() {
				*to = append(*to, span{m.StartNS, m.StartNS + m.DurationNS})
			}
		}
		d := Device{Rank: p.Rank, Name: p.Name}
		var within []span
		within, d.Iterations = iterationSpans(r, p)
		if len(kernels)+len(between)+len(copies) > 0 && d.Iterations > 0 {
			d.divide(within, union(kernels), union(between), union(append(copies, between...)))
			all = append(all, d)
		}
	}
	return all
}

// divide adds up what of the iterations each had; every argument is in order and without overlaps.
func (d *Device) divide(within, kernels, transfers, copies []span) {
	kernels, copies = overlap(kernels, within), overlap(copies, within)
	d.WallNS = length(within)
	d.KernelsNS = length(kernels) - length(overlap(kernels, transfers))
	d.CopiesNS = length(copies)
	busy := length(union(append(slices.Clone(kernels), copies...)))
	d.BothNS = d.KernelsNS + d.CopiesNS - busy
	d.WaitingNS = d.WallNS - busy
}

// iterationSpans are when a trainer's iterations were, or for a server those of all trainers, and how many.
func iterationSpans(r *result.Result, p result.Process) (spans []span, iterations int) {
	for _, t := range r.Processes {
		if t.Kind != "trainer" || p.Kind == "trainer" && t.Rank != p.Rank {
			continue
		}
		list := IterationsOf(r, t.Rank)
		iterations = max(iterations, len(list))
		for _, it := range list {
			spans = append(spans, span{it.StartNS(), it.EndNS})
		}
	}
	return union(spans), iterations
}

// union is the same time in order, without overlaps.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.startNS, b.startNS) })
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && s.startNS <= merged[n-1].endNS {
			merged[n-1].endNS = max(merged[n-1].endNS, s.endNS)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// overlap is the time in both, each of which is in order and without overlaps.
func overlap(a, b []span) (both []span) {
	for len(a) > 0 && len(b) > 0 {
		if s := (span{max(a[0].startNS, b[0].startNS), min(a[0].endNS, b[0].endNS)}); s.startNS < s.endNS {
			both = append(both, s)
		}
		if a[0].endNS < b[0].endNS {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return both
}

func length(spans []span) (ns int64) {
	for _, s := range spans {
		ns += s.endNS - s.startNS
	}
	return ns
}
