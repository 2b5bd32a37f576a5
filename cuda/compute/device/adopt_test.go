//go:build nvidia

package device_test

import (
	"os"
	"strings"
	"testing"

	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/sdk/engine"
)

func TestCloseFindsWhatIsAdopted(t *testing.T) {
	d, err := device.Open(0)
	must(t, err)
	host := make([]byte, 8)
	adopted, err := d.Adopt(host)
	must(t, err)
	again, err := d.Adopt(make([]byte, 24))
	must(t, err)
	must(t, adopted.Close())
	if err := d.Close(); err == nil || err.Error() != "engine cuda:0 ends while 24 bytes of memory are adopted" {
		t.Errorf("it ends with %v", err)
	}
	_ = again
	if none, err := (&device.Device{}).Adopt(nil); none != nil || err != nil {
		t.Errorf("adopting nothing gives %v, %v", none, err)
	}
}

// If memory cannot be pinned, copies go through the engine's own memory, and the facts report this.
func TestAdoptionThatIsRefused(t *testing.T) {
	computetest.OnDouble(t)
	computetest.Alone(t, func(t *testing.T) {
		d := computetest.Open(t)
		host := computetest.Shared(t, 3*os.Getpagesize()/4)
		throughOther(t, d, host)
		if fact := d.Facts()["pinned"]; !strings.HasPrefix(fact, "no: cuMemHostRegister") {
			t.Errorf("the fact is %q", fact)
		}
	}, "PSBENCH_DOUBLE_FAIL=cuMemHostRegister_v2:*:801")
}

// Go memory is not pinned, and neither are partial pages. The test adopts two neighbours in one page.
func TestMemoryThatIsNotPinned(t *testing.T) {
	d := computetest.Open(t)
	if d.Pin(make([]byte, 1<<20)) != nil {
		t.Error("memory of Go is pinned")
	}
	page := os.Getpagesize()
	shared := bytes(computetest.Shared(t, page/2))
	for _, memory := range [][]byte{bytes(make([]float32, 3000)), shared[:page+4], shared[page+4:]} {
		adopted, err := d.Adopt(memory)
		must(t, err)
		t.Cleanup(func() { must(t, adopted.Close()) })
	}
	x := computetest.In(t, d, make([]float32, page/2))
	in := []engine.Ticket{d.CopyIn(bytes(x)[:page+4], shared[:page+4]), d.CopyIn(bytes(x)[page+4:], shared[page+4:])}
	must(t, d.Wait(in[1]))
	throughOther(t, d, make([]float32, 3000))
	if fact := d.Facts()["pinned"]; fact !=
		"no: 1048576 bytes are not whole pages of shared memory, which alone are pinned" {
		t.Errorf("the fact is %q", fact)
	}
	once := pinned(t, d, page/4-1)
	if d.Pin(bytes(once[:1])) != nil {
		t.Error("a page is pinned twice")
	}
}

// throughOther adopts host memory and copies to and from it.
func throughOther(t *testing.T, d *device.Device, host []float32) {
	t.Helper()
	copy(host, computetest.Random(3000, 2))
	adopted, err := d.Adopt(bytes(host))
	must(t, err)
	x := computetest.In(t, d, make([]float32, len(host)))
	tickets := []engine.Ticket{d.CopyIn(bytes(x[:1500]), bytes(host[:1500])),
		d.CopyIn(bytes(x[1500:]), bytes(host[1500:]))}
	must(t, d.Wait(tickets[1]))
	clear(host)
	first, second := d.CopyOut(bytes(host[:1000]), bytes(x[:1000])), d.CopyOut(bytes(host[1000:]), bytes(x[1000:]))
	must(t, d.Wait(second))
	must(t, d.Wait(first))
	computetest.Near(t, "what went there and back", host[:3000], computetest.Random(3000, 2), 0)
	clear(host)
	for i := range 3000 { // more copies than the engine tracks
		first = d.CopyOut(bytes(host[i:i+1]), bytes(x[i:i+1]))
	}
	must(t, d.Wait(first))
	computetest.Near(t, "what came out one by one", host[:3000], computetest.Random(3000, 2), 0)
	must(t, adopted.Close())
}

// Memory stays pinned until the copies that use it have ended.
func TestWhatIsAdoptedIsGivenUpAfterItsCopies(t *testing.T) {
	d := computetest.Open(t)
	host := computetest.Shared(t, os.Getpagesize()/2)
	numbers := computetest.Random(len(host), 4)
	x := computetest.In(t, d, numbers)
	d.Compute().Queue.Scale(1, x)
	for _, copying := range []func() engine.Ticket{
		func() engine.Ticket { return d.CopyOut(bytes(host), bytes(x)) },
		func() engine.Ticket { return d.CopyIn(bytes(x), bytes(host)) },
	} {
		adopted, err := d.Adopt(bytes(host))
		must(t, err)
		ticket := copying()
		must(t, adopted.Close())
		must(t, d.Wait(ticket))
	}
	must(t, d.Pin(bytes(host)).Close())
	computetest.Near(t, "what went there and back", computetest.Out(t, d, x), numbers, 0)
}
