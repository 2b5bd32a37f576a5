//go:build nvidia

package compute_test

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// link is the memory for one copy: a bucket on the device and in shared memory, and pinned memory of the same size
// from the driver.
type link struct {
	dev                    *device.Device
	stream                 *driver.Stream
	memory, shared, pinned []byte
	cuts                   []int // start of each parameter in the bucket, and the end of the last
	// all buckets of each kind of memory, one after the other; each copy takes the next one, so that no cache holds it
	places [3][]byte
}

// BenchmarkStaging compares two kinds of copies of the default model's largest bucket, in turn. The first is a
// trainer's staging: one copy per parameter between the device and shared memory. The second is a single driver
// copy of the same size between the device and pinned memory. The host measures the time until the bytes have
// arrived.
func BenchmarkStaging(b *testing.B) {
	l := openLink(b)
	for _, c := range []struct {
		direction    string
		staged, bare func() error
	}{
		{"out", l.stageOut, l.bareOut},
		{"in", l.stageIn, l.bareIn},
	} {
		b.Run(c.direction, func(b *testing.B) {
			l.check(b)
			var staged, bare []float64
			for b.Loop() {
				staged = append(staged, l.rate(b, c.staged))
				bare = append(bare, l.rate(b, c.bare))
			}
			median, low, high := spread(staged)
			medianLink, lowLink, highLink := spread(bare)
			b.ReportMetric(0, "ns/op") // would count both kinds together
			b.ReportMetric(median, "GB/s")
			b.ReportMetric(medianLink, "link-GB/s")
			b.ReportMetric(100*median/medianLink, "%-of-link")
			b.Logf("medians of %d, with the 10th and the 90th in 100: staged %.4g (%.4g..%.4g) GB/s, link %.4g (%.4g..%.4g) GB/s",
				len(staged), median, low, high, medianLink, lowLink, highLink)
		})
	}
}

func openLink(b *testing.B) *link {
	b.Helper()
	d := computetest.Open(b)
	lane, err := d.NewLane()
	computetest.Must(b, err)
	d.Measure(&sdk.Recorder{}) // as in a run
	computetest.Must(b, d.BeginPass())
	l := &link{dev: d, stream: lane.Stream, cuts: []int{0}}
	const layers = 7
	width, places := 1024, 8
	if testing.Short() { // only checks that it works
		width, places = 64, 32 // parameters are whole pages
	}
	for range layers {
		bias := l.cuts[len(l.cuts)-1] + 4*width
		l.cuts = append(l.cuts, bias, bias+4*width*width)
	}
	n := l.cuts[len(l.cuts)-1]
	memory, err := engine.Floats(d, places*n/4)
	computetest.Must(b, err)
	shared := computetest.Shared(b, places*n/4)
	l.places = [3][]byte{tensor.Float32Bytes(memory), tensor.Float32Bytes(shared), nil}
	l.places[2], err = d.AllocHost(places * n)
	computetest.Must(b, err)
	l.take(0)
	adopted, err := d.Adopt(l.places[1])
	computetest.Must(b, err)
	b.Cleanup(func() { computetest.Must(b, adopted.Close()) })
	if pinned := d.Facts()["pinned"]; pinned != "yes" {
		b.Logf("staging takes a copy more: buckets are not pinned: %s", pinned)
	}
	return l
}

// take selects the bucket that begins there for the next copies.
func (l *link) take(at int) {
	end := at + l.cuts[len(l.cuts)-1]
	l.memory, l.shared, l.pinned = l.places[0][at:end], l.places[1][at:end], l.places[2][at:end]
}

// next selects the next bucket.
func (l *link) next() {
	at := len(l.places[0]) - cap(l.memory) + len(l.memory)
	l.take(at % len(l.places[0]))
}

// check copies random numbers there and back in each way and compares them. check leaves random numbers in all
// buckets, because a link may be faster with zeros.
func (l *link) check(b *testing.B) {
	b.Helper()
	want := tensor.Float32Bytes(computetest.Random(len(l.memory)/4, 7))
	for _, way := range []struct {
		name    string
		from    []byte
		in, out func() error
		to      []byte
	}{
		{"staged in, out by the driver", l.shared, l.stageIn, l.bareOut, l.pinned},
		{"in by the driver, staged out", l.pinned, l.bareIn, l.stageOut, l.shared},
	} {
		clear(l.shared)
		clear(l.pinned)
		copy(way.from, want)
		computetest.Must(b, way.in())
		clear(way.from)
		computetest.Must(b, way.out())
		if !slices.Equal(way.to, want) {
			b.Fatalf("%s: other bytes come back", way.name)
		}
	}
	for range len(l.places[0]) / len(l.memory) {
		copy(l.shared, want)
		copy(l.pinned, want)
		computetest.Must(b, l.stageIn())
		l.next()
	}
}

// rate returns the speed of copying the bucket, in GB/s.
func (l *link) rate(b *testing.B, copying func() error) float64 {
	b.Helper()
	defer l.next()
	start := comm.Now()
	computetest.Must(b, copying())
	return float64(len(l.memory)) / float64(max(1, comm.Now()-start))
}

func (l *link) stageOut() error {
	var last engine.Ticket
	for i, from := range l.cuts[:len(l.cuts)-1] {
		to := l.cuts[i+1]
		last = l.dev.CopyOut(l.shared[from:to], l.memory[from:to])
	}
	return l.dev.Wait(last)
}

func (l *link) stageIn() error {
	var last engine.Ticket
	for i, from := range l.cuts[:len(l.cuts)-1] {
		to := l.cuts[i+1]
		last = l.dev.CopyIn(l.memory[from:to], l.shared[from:to])
	}
	return l.dev.Wait(last)
}

func (l *link) bareOut() error {
	if err := l.stream.CopyOut(unsafe.Pointer(unsafe.SliceData(l.pinned)), l.on(), len(l.memory)); err != nil {
		return err
	}
	return l.stream.Synchronize()
}

func (l *link) bareIn() error {
	if err := l.stream.CopyIn(l.on(), unsafe.Pointer(unsafe.SliceData(l.pinned)), len(l.memory)); err != nil {
		return err
	}
	return l.stream.Synchronize()
}

// on returns the device address of the bucket.
func (l *link) on() driver.Pointer {
	return driver.Pointer(uintptr(unsafe.Pointer(unsafe.SliceData(l.memory))))
}

// spread returns the median and the 10th and 90th percentiles.
func spread(all []float64) (median, low, high float64) {
	slices.Sort(all)
	at := func(percent int) float64 { return all[percent*(len(all)-1)/100] }
	return at(50), at(10), at(90)
}
