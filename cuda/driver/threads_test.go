//go:build nvidia

package driver_test

import (
	"errors"
	"os"
	"regexp"
	"runtime"
	"testing"

	"gorgonia.org/cu"

	"github.com/psbench/psbench/cuda/driver"
)

// Every call works on a thread that has no context or another context.
func TestCallsSetTheirContext(t *testing.T) {
	c := open(t)
	first, second := newStream(t, c), newStream(t, c)
	timing := driver.EventOptions{Timing: true}
	begin, end := newEvent(t, c, timing), newEvent(t, c, timing)
	shared := newEvent(t, c, driver.EventOptions{Interprocess: true})
	scale := function(t, newModule(t, c), "scale")
	x, y := alloc(t, c, 1024), alloc(t, c, 1024)
	host := allocHost(t, c, 1024)
	var args driver.Args
	args.Pointer(x)
	args.F32(1)
	args.U32(256)
	var more []byte
	var graph *driver.Graph
	registered := make([]byte, 1<<16)

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, step := range []struct {
		name string
		call func() error
	}{
		{"Record", func() error { return begin.Record(first) }},
		{"CopyIn", func() error { return first.CopyIn(x, start(host), 1024) }},
		{"Launch", func() error { return first.Launch(scale, [3]uint32{2, 1, 1}, [3]uint32{128, 1, 1}, 0, &args) }},
		{"CopyDevice", func() error { return first.CopyDevice(y, x, 1024) }},
		{"Clear", func() error { return first.Clear(x, 1024) }},
		{"CopyOut", func() error { return first.CopyOut(start(host), y, 1024) }},
		{"Record", func() error { return end.Record(first) }},
		{"Wait", func() error { return second.Wait(end) }},
		{"Event.Synchronize", end.Synchronize},
		{"Synchronize", first.Synchronize},
		{"Query", func() error { _, err := first.Query(); return err }},
		{"Event.Query", func() error { _, err := end.Query(); return err }},
		{"ElapsedMS", func() error { _, err := driver.ElapsedMS(begin, end); return err }},
		{"AllocHost", func() (err error) { more, err = c.AllocHost(64); return err }},
		{"FreeHost", func() error { return c.FreeHost(more) }},
		{"Register", func() error { return c.Register(registered, false) }},
		{"Unregister", func() error { return c.Unregister(registered) }},
		{"ExportMemory", func() error { _, err := c.ExportMemory(x); return err }},
		{"ExportEvent", func() error { _, err := c.ExportEvent(shared); return err }},
		{"BeginCapture", first.BeginCapture},
		{"Clear, captured", func() error { return first.Clear(x, 1024) }},
		{"EndCapture", func() (err error) { graph, err = first.EndCapture(); return err }},
		{"Instantiate", func() error { return graph.Instantiate() }},
		{"Graph.Launch", func() error { return graph.Launch(first) }},
		{"Graph.Destroy", func() error { return graph.Destroy() }},
		{"Context.Synchronize", c.Synchronize},
		{"FreeMemory", func() error { _, _, err := c.FreeMemory(); return err }},
	} {
		check(t, cu.SetCurrentContext(cu.CUContext{}))
		if err := step.call(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
	}
}

// importApart does the same as importChild, on a thread without a context before each call.
func importApart() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	memory, event := readHandle(os.Stdin), readHandle(os.Stdin)
	c, err := driver.Open(0)
	if err != nil {
		return err
	}
	apart := func() error { return cu.SetCurrentContext(cu.CUContext{}) }
	check := apart()
	x, imported := c.ImportMemory(memory)
	check = errors.Join(check, imported, apart())
	e, imported := c.ImportEvent(event)
	check = errors.Join(check, imported)
	if check != nil {
		return check
	}
	return firstOf(apart(), c.CloseImported(x), apart(), e.Destroy(), c.Close())
}

// late gives a stream work that the double does not do before something waits for it.
func late() error {
	c, err := driver.Open(0)
	if err != nil {
		return err
	}
	s, err := c.NewStream()
	if err != nil {
		return err
	}
	e, err := c.NewEvent(driver.EventOptions{})
	if err != nil {
		return err
	}
	x, err := c.Alloc(64)
	if err != nil {
		return err
	}
	other, err := c.Alloc(64)
	if err != nil {
		return err
	}
	host, err := c.AllocHost(128)
	if err != nil {
		return err
	}
	host[0] = 7
	runtime.LockOSThread() // the calls leave their context current on this thread
	defer runtime.UnlockOSThread()
	if err := firstOf(s.CopyIn(x, start(host), 64), s.CopyOut(start(host[64:]), x, 64), e.Record(s)); err != nil {
		return err
	}
	// Work on the default stream, as a library may launch it, does not wait for this stream.
	beside := make([]byte, 64)
	if err := cu.MemcpyDtoH(start(beside), cu.DevicePtr(other), 64); err != nil {
		return err
	}
	done, err := s.Query()
	reached, errReached := e.Query()
	if err := firstOf(err, errReached); err != nil {
		return err
	}
	if done || reached || host[64] != 0 {
		return errors.New("work is said to be done that is not")
	}
	if err := e.Synchronize(); err != nil {
		return err
	}
	if host[64] != 7 {
		return errors.New("the event was not waited for")
	}
	if done, err := s.Query(); !done || err != nil {
		return errors.New("work is said not to be done that is")
	}
	return firstOf(c.FreeHost(host), c.Free(x), c.Free(other), e.Destroy(), s.Destroy(), c.Close())
}

// Unfinished work is not reported as done, and freeing leaves nothing behind. A wait polls and then blocks; queries
// are so slow here that it polls once.
func TestLateWork(t *testing.T) {
	onDouble(t)
	stdout, stderr, status := child(t, "late", "", "PSBENCH_DOUBLE_STREAMS=latest", "PSBENCH_DOUBLE_IDLE_MS=60000",
		"PSBENCH_DOUBLE_EXIT=9",
		"PSBENCH_DOUBLE_SLOW=cuEventQuery:200", "PSBENCH_DOUBLE_TRACE=1")
	if status != 0 {
		t.Errorf("status %d: %s\n%s", status, stdout, stderr)
	}
	if polls := regexp.MustCompile(`cuEventQuery = 600\n[^\n]* cuEventSynchronize = 0`); !polls.MatchString(stderr) {
		t.Errorf("a wait does not poll first:\n%s", stderr)
	}
}

// strays calls the driver from goroutines that change threads. Other goroutines leave some of these threads without
// a context.
func strays() error {
	c, err := driver.Open(0)
	if err != nil {
		return err
	}
	errs := make(chan error)
	const workers = 8
	for worker := range workers {
		go func() {
			var err error
			for range 50 {
				if worker%2 == 0 {
					err = errors.Join(err, cu.SetCurrentContext(cu.CUContext{}))
					continue
				}
				_, _, failed := c.FreeMemory()
				err = errors.Join(err, failed)
			}
			errs <- err
		}()
	}
	for range workers {
		err = errors.Join(err, <-errs)
	}
	return errors.Join(err, c.Close())
}

// A goroutine stays on the thread whose context it set until its call ends, even if setting the context takes long.
func TestThreadsStayTheirContexts(t *testing.T) {
	onDouble(t)
	if stdout, stderr, status := child(t, "strays", "", "PSBENCH_DOUBLE_SLOW=cuCtxSetCurrent:200"); status != 0 {
		t.Errorf("status %d: %.2000s\n%.2000s", status, stdout, stderr)
	}
}
