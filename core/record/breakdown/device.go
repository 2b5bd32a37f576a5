package breakdown

import (
	"cmp"
	"slices"

	"github.com/psbench/psbench/core/record/result"
)

// DeviceMetric is the type of the series that CUDA ranks measure with events on their devices.
const DeviceMetric = "device_metric"

// These are series of copies between host and device. bucketCopies copy buckets on their own CUDA streams. transfers
// are needed by a part between its kernels. exchange is the series in which the device's kernels wait for other ranks.
var (
	bucketCopies = []string{"device copy out", "device copy in"}
	transfers    = []string{"device transfer in", "device transfer out"}
	exchange     = "device exchange"
)

// IsDeviceWhole reports whether the measurements of a device series span several phases and the time between them.
func IsDeviceWhole(name string) bool { return name == "device iteration" || name == "device update" }

// Device describes what a rank's device did for this rank during iterations. A trainer counts its own iterations, a
// server counts the iterations of all trainers. The device may have worked for other ranks at the same time.
type Device struct {
	Rank       int
	Name       string // name of the process
	Iterations int
	WallNS     int64
	// KernelsNS is the time in phases of kernels. A phase lasts from its first kernel to its last. KernelsNS excludes
	// transfers. KernelsNS also excludes waiting for gradients of other ranks, unless an NCCL kernel does the waiting.
	// CopiesNS is the time in copies and transfers. BothNS is the time in kernels and copies at once. WaitingNS is the
	// time in neither. So WallNS = KernelsNS + CopiesNS - BothNS + WaitingNS.
	KernelsNS, CopiesNS, BothNS, WaitingNS int64
}

// Devices returns the devices of all ranks that measured theirs, in the order of the processes.
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

// divide sums the time of each activity within the iterations. Each argument must be sorted and free of overlaps.
func (d *Device) divide(within, kernels, transfers, copies []span) {
	kernels, copies = overlap(kernels, within), overlap(copies, within)
	d.WallNS = length(within)
	d.KernelsNS = length(kernels) - length(overlap(kernels, transfers))
	d.CopiesNS = length(copies)
	busy := length(union(append(slices.Clone(kernels), copies...)))
	d.BothNS = d.KernelsNS + d.CopiesNS - busy
	d.WaitingNS = d.WallNS - busy
}

// iterationSpans returns when the iterations of a trainer ran, and their number. For a server, iterationSpans returns
// the iterations of all trainers.
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

// union sorts spans and merges those that overlap.
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

// overlap returns the intersection of two lists of spans. Both lists must be sorted and free of overlaps.
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
