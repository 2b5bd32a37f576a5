//go:build nvidia

package driver_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"sync"
	"syscall"
	"testing"

	"github.com/psbench/psbench/cuda/driver"
)

func TestDevice(t *testing.T) {
	info := open(t).Device()
	if info.Ordinal != 0 || info.Name == "" || info.MemoryBytes <= 0 || info.ComputeCapability.Major < 7 ||
		info.DriverVersion.Major < 11 {
		t.Errorf("%+v", info)
	}
	if !regexp.MustCompile(`^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(info.UUID) {
		t.Errorf("its UUID is %s", info.UUID)
	}
}

// Copies transfer every byte at any alignment, and Clear sets exactly the given number of bytes.
func TestCopies(t *testing.T) {
	c := open(t)
	s := newStream(t, c)
	const n = 4099
	in, out := allocHost(t, c, n), allocHost(t, c, n)
	a, b := alloc(t, c, n), alloc(t, c, n)
	for i := range in {
		in[i] = byte(i*7 + i>>8)
	}
	for _, offset := range []int{0, 1, 3, 8} {
		clear(out)
		bytes, at := n-offset, driver.Pointer(offset)
		check(t, s.CopyIn(a+at, start(in[offset:]), bytes))
		check(t, s.Clear(b, n))
		check(t, s.CopyDevice(b+at, a+at, bytes))
		check(t, s.Clear(b+at+16, 5))
		check(t, s.CopyOut(start(out), b, n))
		check(t, s.Synchronize())
		want := append(make([]byte, offset), in[offset:]...)
		clear(want[offset+16 : offset+21])
		if i := firstDifference(out, want); i >= 0 {
			t.Errorf("from byte %d on: byte %d is %d but must be %d", offset, i, out[i], want[i])
		}
	}
	check(t, s.CopyIn(a, nil, 0)) // copying 0 bytes is no error
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

func TestLaunch(t *testing.T) {
	c := open(t)
	s, scale := newStream(t, c), function(t, newModule(t, c), "scale")
	host := allocHost(t, c, 4*1000)
	for i, x := 0, floats(host); i < len(x); i++ {
		x[i] = float32(i)
	}
	x := alloc(t, c, len(host))
	var args driver.Args
	check(t, s.CopyIn(x, start(host), len(host)))
	for _, factor := range []float32{2, -0.5} {
		args.Reset()
		args.Pointer(x)
		args.F32(factor)
		args.U32(999) // too few arguments
		check(t, s.Launch(scale, [3]uint32{8, 1, 1}, [3]uint32{128, 1, 1}, 0, &args))
	}
	check(t, s.CopyOut(start(host), x, len(host)))
	check(t, s.Synchronize())
	for i, got := range floats(host) {
		want := -float32(i)
		if i == 999 {
			want = 999
		}
		if got != want {
			t.Fatalf("x[%d] is %v but must be %v", i, got, want)
		}
	}
}

// Arguments of every type arrive unchanged, at both ends of their range.
func TestArguments(t *testing.T) {
	c := open(t)
	s, arguments := newStream(t, c), function(t, newModule(t, c), "arguments")
	out, host := alloc(t, c, 48), allocHost(t, c, 48)
	var args driver.Args
	for _, v := range []struct {
		u32 uint32
		i32 int32
		u64 uint64
		i64 int64
		f32 float32
		f64 float64
	}{
		{1, -1, 2, -2, 0.5, -0.25},
		{math.MaxUint32, math.MinInt32, math.MaxUint64, math.MinInt64, math.MaxFloat32, math.SmallestNonzeroFloat64},
		{0, math.MaxInt32, 1 << 40, math.MaxInt64, float32(math.Inf(-1)), math.MaxFloat64},
	} {
		args.Reset()
		args.Pointer(out)
		args.U32(v.u32)
		args.I32(v.i32)
		args.U64(v.u64)
		args.I64(v.i64)
		args.F32(v.f32)
		args.F64(v.f64)
		check(t, s.Clear(out, 48))
		check(t, s.Launch(arguments, [3]uint32{1, 1, 1}, [3]uint32{1, 1, 1}, 0, &args))
		check(t, s.CopyOut(start(host), out, 48))
		check(t, s.Synchronize())
		want := make([]byte, 48)
		little := binary.LittleEndian
		little.PutUint32(want, v.u32)
		little.PutUint32(want[8:], uint32(v.i32))
		little.PutUint64(want[16:], v.u64)
		little.PutUint64(want[24:], uint64(v.i64))
		little.PutUint32(want[32:], math.Float32bits(v.f32))
		little.PutUint64(want[40:], math.Float64bits(v.f64))
		if !bytes.Equal(host, want) {
			t.Errorf("of %+v arrived\n%x but must\n%x", v, host, want)
		}
	}
}

// Work after an event of another stream sees that stream's earlier results, and work takes time.
func TestEvents(t *testing.T) {
	c := open(t)
	first, second := newStream(t, c), newStream(t, c)
	timing := driver.EventOptions{Timing: true}
	begin, end := newEvent(t, c, timing), newEvent(t, c, timing)
	scale := function(t, newModule(t, c), "scale")
	const n = 1 << 12
	host := allocHost(t, c, 4*n)
	for i := range floats(host) {
		floats(host)[i] = 1
	}
	x := alloc(t, c, 4*n)
	var args driver.Args
	args.Pointer(x)
	args.F32(3)
	args.U32(n)
	check(t, begin.Record(first))
	check(t, first.CopyIn(x, start(host), 4*n))
	for range 4 {
		check(t, first.Launch(scale, [3]uint32{n / 128, 1, 1}, [3]uint32{128, 1, 1}, 0, &args))
	}
	check(t, end.Record(first))
	check(t, second.Wait(end))
	check(t, second.CopyOut(start(host), x, 4*n))
	check(t, second.Synchronize())
	if got := floats(host)[n-1]; got != 81 {
		t.Errorf("the copy behind the event found %v but must 81", got)
	}
	if reached, err := end.Query(); !reached || err != nil {
		t.Errorf("the event is reached: %v, %v", reached, err)
	}
	if done, err := second.Query(); !done || err != nil {
		t.Errorf("the stream is done: %v, %v", done, err)
	}
	check(t, end.Synchronize())
	ms, err := driver.ElapsedMS(begin, end)
	if err != nil || !(ms > 0 && ms < 60_000) {
		t.Errorf("%v ms, %v", ms, err)
	}
}

func TestInterprocessEventsHaveNoTiming(t *testing.T) {
	_, err := open(t).NewEvent(driver.EventOptions{Timing: true, Interprocess: true})
	const want = "an event on cuda:0 cannot have both timing and other processes: an interprocess event has no timing"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// Memory that Go did not allocate can be pinned, copied to and from, and released, also if it is mapped from a
// file.
func TestRegister(t *testing.T) {
	c := open(t)
	s := newStream(t, c)
	const n = 1 << 16
	host, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	check(t, err)
	defer syscall.Munmap(host) //nolint:errcheck // it ends with the process
	x := alloc(t, c, n)
	check(t, c.Register(host, false))
	if err := c.Register(host, false); err == nil {
		t.Error("the same memory is registered twice")
	}
	host[n-1] = 42
	check(t, s.CopyIn(x, start(host), n))
	check(t, s.Synchronize())
	host[n-1] = 0
	check(t, s.CopyOut(start(host), x, n))
	check(t, s.Synchronize())
	if host[n-1] != 42 {
		t.Errorf("the last byte is %d", host[n-1])
	}
	check(t, c.Unregister(host))
	if err := c.Unregister(host); err == nil {
		t.Error("what is not registered was unregistered")
	}
}

// A launched graph does the captured work on any stream. Capturing alone does not do the work.
func TestGraph(t *testing.T) {
	c := open(t)
	first, second := newStream(t, c), newStream(t, c)
	fork, join := newEvent(t, c, driver.EventOptions{}), newEvent(t, c, driver.EventOptions{})
	scale := function(t, newModule(t, c), "scale")
	host := allocHost(t, c, 4*256)
	for i := range floats(host) {
		floats(host)[i] = 1
	}
	x, y := alloc(t, c, 4*256), alloc(t, c, 4*256)
	check(t, first.CopyIn(x, start(host), len(host)))
	check(t, first.Clear(y, len(host)))
	check(t, first.Synchronize())

	var args driver.Args
	args.Pointer(x)
	args.F32(2)
	args.U32(256)
	check(t, first.BeginCapture())
	check(t, first.Launch(scale, [3]uint32{2, 1, 1}, [3]uint32{128, 1, 1}, 0, &args))
	check(t, fork.Record(first))
	check(t, second.Wait(fork))
	check(t, second.CopyDevice(y, x, len(host)))
	check(t, join.Record(second))
	check(t, first.Wait(join))
	alloc(t, c, 64) // as other goroutines on other threads may do
	graph, err := first.EndCapture()
	check(t, err)
	check(t, graph.Instantiate())
	read := func(p driver.Pointer) float32 {
		check(t, first.CopyOut(start(host), p, len(host)))
		check(t, first.Synchronize())
		return floats(host)[255]
	}
	if got := read(x); got != 1 {
		t.Errorf("after the capture x is %v but must be 1", got)
	}
	for range 3 {
		check(t, graph.Launch(first))
	}
	if gotX, gotY := read(x), read(y); gotX != 8 || gotY != 8 {
		t.Errorf("after three launches x is %v and y %v but both must be 8", gotX, gotY)
	}
	check(t, graph.Destroy())
}

// Each stream of one context is used by one goroutine, and the goroutines move between threads.
func TestGoroutines(t *testing.T) {
	c := open(t)
	scale := function(t, newModule(t, c), "scale")
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			if err := scaleAlone(c, scale, g); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func scaleAlone(c *driver.Context, scale driver.Function, g int) (err error) {
	s, err := c.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, s.Destroy()) }()
	host, err := c.AllocHost(4 * 64)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, c.FreeHost(host)) }()
	x, err := c.Alloc(len(host))
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, c.Free(x)) }()
	var args driver.Args
	for round := range 20 {
		for i := range floats(host) {
			floats(host)[i] = float32(g)
		}
		args.Reset()
		args.Pointer(x)
		args.F32(float32(round))
		args.U32(64)
		err := firstOf(s.CopyIn(x, start(host), len(host)),
			s.Launch(scale, [3]uint32{1, 1, 1}, [3]uint32{64, 1, 1}, 0, &args),
			s.CopyOut(start(host), x, len(host)), s.Synchronize())
		if err != nil {
			return err
		}
		if got, want := floats(host)[63], float32(g*round); got != want {
			return fmt.Errorf("goroutine %d, round %d: %v but must be %v", g, round, got, want)
		}
	}
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestHotCallsAllocateNothing(t *testing.T) {
	c := open(t)
	first, second := newStream(t, c), newStream(t, c)
	e := newEvent(t, c, driver.EventOptions{})
	scale := function(t, newModule(t, c), "scale")
	host, x, y := allocHost(t, c, 1024), alloc(t, c, 1024), alloc(t, c, 1024)
	var args driver.Args
	allocated := testing.AllocsPerRun(50, func() {
		args.Reset()
		args.Pointer(x)
		args.F32(2)
		args.U32(256)
		err := firstOf(first.CopyIn(x, start(host), 1024),
			first.Launch(scale, [3]uint32{1, 1, 1}, [3]uint32{256, 1, 1}, 0, &args),
			e.Record(first), second.Wait(e), second.CopyDevice(y, x, 1024), second.CopyOut(start(host), y, 1024),
			first.Clear(x, 512), e.Synchronize(), second.Synchronize(), first.Synchronize())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Query(); err != nil {
			t.Fatal(err)
		}
		if _, err := first.Query(); err != nil {
			t.Fatal(err)
		}
	})
	if allocated != 0 {
		t.Errorf("an iteration allocates %v times", allocated)
	}
}
