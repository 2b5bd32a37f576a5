//go:build nvidia

package device_test

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/sdk/engine"
)

func TestMain(m *testing.M) { computetest.Main(m) }

var must = computetest.Must

func bytes(x []float32) []byte { return tensor.Float32Bytes(x) }

// pinned returns host memory that is pinned until the end of the test. Copies out to other memory block until they
// end.
func pinned(t *testing.T, d *device.Device, n int) []float32 {
	t.Helper()
	x := computetest.Shared(t, n)
	adopted := d.Pin(bytes(x))
	if adopted == nil {
		t.Fatal("shared memory is not pinned")
	}
	t.Cleanup(func() { must(t, adopted.Close()) })
	return x
}

func TestMemoryIsClearAndOfItsType(t *testing.T) {
	d := computetest.Open(t)
	for _, typ := range tensor.Types {
		memory, err := d.Alloc(typ, 5)
		must(t, err)
		if len(memory) != 5*typ.Bytes() {
			t.Errorf("5 elements of type %s take %d bytes", typ, len(memory))
		}
		d.Free(memory)
	}
	x, err := engine.Floats(d, 1000)
	must(t, err)
	for i, v := range computetest.Out(t, d, x) {
		if v != 0 {
			t.Fatalf("number %d of new memory is %g", i, v)
		}
	}
	if _, err := d.Alloc("int3", 1); err == nil ||
		err.Error() != "engine cuda:0 has no elements of type int3: it has float32, float16, bfloat16, int32, int64, int8, uint8" {
		t.Errorf("another type gives %v", err)
	}
	none, err := engine.Floats(d, 0)
	must(t, err)
	must(t, engine.Out(d, nil, none))
	if d.Addressable() || d.Name() != "cuda:0" {
		t.Error("it says that it is another engine")
	}
}

func TestWhatDoesNotFitIsAnError(t *testing.T) {
	d := computetest.Open(t)
	_, err := engine.Floats(d, 1<<45)
	for _, part := range []string{"engine cuda:0 has no memory for 140737488355328 bytes", "bytes are free"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("too much memory gives %v, which lacks %q", err, part)
		}
	}
}

// A copy out sees the results of earlier kernels without a wait by the host, and later kernels do not affect the
// copy.
func TestCopyOutHasItsPlace(t *testing.T) {
	d := computetest.Open(t)
	q := d.Compute().Queue
	x := computetest.In(t, d, make([]float32, 500))
	host := make([][]float32, 8)
	var last engine.Ticket
	for i := range host {
		host[i] = pinned(t, d, len(x))
		y := computetest.In(t, d, make([]float32, len(x)))
		q.Fill(x, float32(i+1))
		q.Copy(y, x)
		last = d.CopyOut(bytes(host[i]), bytes(y))
	}
	must(t, d.Wait(last))
	for i := range host {
		if host[i][499] != float32(i+1) {
			t.Errorf("copy %d has %g", i, host[i][499])
		}
	}
	must(t, q.Err())
}

// A copy in waits for earlier kernels. Kernels launched after Wait see the copied data.
func TestCopyInHasItsPlace(t *testing.T) {
	d := computetest.Open(t)
	q := d.Compute().Queue
	x, y, z := computetest.In(t, d, []float32{1, 2, 3}), computetest.In(t, d, make([]float32, 3)), computetest.In(t, d,
		make([]float32, 3))
	q.Copy(y, x)
	must(t, d.Wait(d.CopyIn(bytes(x), bytes([]float32{4, 5, 6}))))
	q.Copy(z, x)
	computetest.Near(t, "what was read before the copy", computetest.Out(t, d, y), []float32{1, 2, 3}, 0)
	computetest.Near(t, "what was read after it", computetest.Out(t, d, z), []float32{4, 5, 6}, 0)
}

func TestTicketsMayBeWaitedForInAnyOrder(t *testing.T) {
	d := computetest.Open(t)
	const n = 2500 // more copies than events
	x := computetest.In(t, d, computetest.Random(n, 1))
	out, back := make([]float32, n), computetest.In(t, d, make([]float32, n))
	tickets := make([]engine.Ticket, n)
	for i := range tickets {
		tickets[i] = d.CopyOut(bytes(out[i:i+1]), bytes(x[i:i+1]))
	}
	var waiting sync.WaitGroup
	for _, first := range []int{n - 1, 3, 1200} {
		waiting.Go(func() {
			for i := range n {
				if err := d.Wait(tickets[(first+i*7)%n]); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	waiting.Wait()
	computetest.Near(t, "what came out", out, computetest.Random(n, 1), 0)
	for i := range tickets {
		tickets[i] = d.CopyIn(bytes(back[i:i+1]), bytes(out[i:i+1]))
	}
	must(t, d.Wait(tickets[n-1]))
	must(t, d.Wait(tickets[0]))
	must(t, d.Wait(engine.Ticket{}))
	must(t, d.Wait(engine.Ticket{In: true}))
	computetest.Near(t, "what went back", computetest.Out(t, d, back), out, 0)
}

// An error belongs to its ticket and to all later tickets of the same direction, but not of the other direction.
func TestErrorsStay(t *testing.T) {
	d := computetest.Open(t)
	x, host := computetest.In(t, d, []float32{1, 2}), make([]float32, 2)
	before := d.CopyOut(bytes(host), bytes(x))
	wrong := d.CopyOut(bytes(host[:1]), bytes(x))
	after := d.CopyOut(bytes(host), bytes(x))
	must(t, d.Wait(before))
	for _, ticket := range []engine.Ticket{wrong, after, wrong} {
		if err := d.Wait(ticket); err == nil ||
			err.Error() != "4 bytes of the host and 8 of engine cuda:0 cannot be copied: both numbers must be equal" {
			t.Errorf("ticket %d has error %v", ticket.Number, err)
		}
	}
	must(t, engine.In(d, x, host))
}

func TestCopiesDoNotAllocate(t *testing.T) {
	d := computetest.Open(t)
	for _, host := range [][]float32{make([]float32, 64), computetest.Shared(t, os.Getpagesize()/4)} {
		copiesDoNotAllocate(t, d, host)
	}
}

func copiesDoNotAllocate(t *testing.T, d *device.Device, host []float32) {
	t.Helper()
	x := computetest.In(t, d, host)
	adopted, err := d.Adopt(bytes(host))
	must(t, err)
	if n := testing.AllocsPerRun(20, func() {
		_ = d.Wait(d.CopyOut(bytes(host), bytes(x)))
		_ = d.Wait(d.CopyIn(bytes(x), bytes(host)))
	}); n != 0 {
		t.Errorf("a copy each way allocates %g times", n)
	}
	must(t, adopted.Close())
}

// The next kernels see exactly the numbers that a part put into a transfer.
func TestTransfersKeepTheirNumbers(t *testing.T) {
	d := computetest.Open(t)
	l := d.Compute()
	in, err := device.NewTransfer[float32](d, l)
	must(t, err)
	out, err := device.NewTransfer[float32](d, l)
	must(t, err)
	seen := make([][]float32, 4)
	for i := range seen {
		seen[i] = computetest.In(t, d, make([]float32, 300))
	}
	for i := range seen {
		sent, err := in.Put(computetest.Random(300, uint64(i)))
		must(t, err)
		l.Queue.Copy(seen[i], sent)
	}
	for i := range seen {
		got, err := out.Fetch(seen[i])
		must(t, err)
		computetest.Near(t, "what a kernel saw", got, computetest.Random(300, uint64(i)), 0)
	}
	sent, err := in.Put(computetest.Random(5000, 9)) // needs more memory
	must(t, err)
	got, err := out.Fetch(sent)
	must(t, err)
	computetest.Near(t, "what was sent after it grew", got, computetest.Random(5000, 9), 0)
	if n := testing.AllocsPerRun(5, func() {
		_, _ = in.Put(got)
		_, _ = out.Fetch(sent)
	}); n != 0 {
		t.Errorf("it allocates %g times", n)
	}
}

// Free waits for the work that uses the memory.
func TestFreeWaits(t *testing.T) {
	d := computetest.Open(t)
	x, host := computetest.In(t, d, computetest.Random(100, 3)), pinned(t, d, 100)
	y := computetest.In(t, d, make([]float32, 100))
	d.Compute().Queue.Axpy(1, x, y)
	ticket := d.CopyOut(bytes(host), bytes(x))
	d.Free(bytes(x))
	must(t, d.Wait(ticket))
	computetest.Near(t, "what was copied", host, computetest.Random(100, 3), 0)
	computetest.Near(t, "what a kernel added", computetest.Out(t, d, y), host, 0)
	d.Free(bytes(x)) // it is no longer device memory

	z := computetest.In(t, d, make([]float32, 100))
	d.Compute().Queue.Axpy(1, y, z) // nothing else waits for this stream
	d.Free(bytes(y))
	computetest.Near(t, "what a kernel added", computetest.Out(t, d, z), host, 0)
}

var _ io.Closer = (*device.Device)(nil)

// The copy in of data that came out during the same Compute call does not wait for later kernels, so it overlaps
// with the backward pass. After another call of Compute, it waits, because later kernels may touch the data.
func TestCopyInBesideKernels(t *testing.T) {
	d := computetest.Open(t)
	x, y, other := computetest.In(t, d, make([]float32, 40)), computetest.In(t, d,
		make([]float32, 40)), computetest.In(t, d, make([]float32, 40))
	host := computetest.Random(40, 1)
	q := d.Compute().Queue
	q.Fill(x, 3)
	out := pinned(t, d, 40)
	emitted := d.CopyOut(bytes(out), bytes(x))
	q.Fill(other, 5)
	must(t, d.Wait(emitted))
	must(t, d.Wait(d.CopyIn(bytes(x), bytes(host))))
	done, err := q.Stream().Query()
	must(t, err)
	if computetest.Latest(d) && done {
		t.Error("the copy in waited for a kernel that was given after the copy out")
	}
	d.Compute().Queue.Copy(y, x)
	must(t, d.Wait(d.CopyIn(bytes(x), bytes(out))))
	computetest.Near(t, "what a kernel read before the second copy in", computetest.Out(t, d, y), host, 0)
	computetest.Near(t, "what another wrote", computetest.Out(t, d, other), slices.Repeat([]float32{5}, 40), 0)
	// Two cases are not known to be free: a piece longer than the copy out, and a copy out that nobody has waited for.
	d.Compute().Queue.Fill(x, 7)
	short := d.CopyOut(bytes(out[:1]), bytes(x[:1]))
	must(t, d.Wait(short))
	q.Copy(y, x)
	must(t, d.Wait(d.CopyIn(bytes(x), bytes(host))))
	computetest.Near(t, "what a kernel read before the third", computetest.Out(t, d, y),
		slices.Repeat([]float32{7}, 40), 0)
	d.Compute().Queue.Fill(x, 9)
	d.CopyOut(bytes(out), bytes(x))
	must(t, d.Wait(d.CopyIn(bytes(x), bytes(host))))
	computetest.Near(t, "what was copied in after a kernel whose result came out", computetest.Out(t, d, x), host, 0)
}
