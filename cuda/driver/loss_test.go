//go:build nvidia

package driver_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/psbench/psbench/cuda/driver"
)

// lose launches kernels until the device is lost, and then tries all other calls.
func lose() error {
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
	m, err := c.LoadModule([]byte(ptx))
	if err != nil {
		return err
	}
	scale, err := m.Function("scale")
	if err != nil {
		return err
	}
	x, err := c.Alloc(1024)
	if err != nil {
		return err
	}
	host := make([]byte, 1024)
	var args driver.Args
	args.Pointer(x)
	args.F32(2)
	args.U32(256)
	var lost error
	for lost == nil {
		lost = firstOf(s.Clear(x, 1024), s.Launch(scale, [3]uint32{2, 1, 1}, [3]uint32{128, 1, 1}, 0, &args),
			s.Synchronize())
	}
	fmt.Println(lost)
	_, alloc := c.Alloc(4)
	_, stream := c.NewStream()
	_, query := s.Query()
	_, reached := e.Query()
	_, pinned := c.AllocHost(4)
	_, export := c.ExportMemory(x)
	_, graph := s.EndCapture()
	for name, err := range map[string]error{
		"Alloc": alloc, "NewStream": stream, "Query": query, "Event.Query": reached, "AllocHost": pinned,
		"ExportMemory": export, "EndCapture": graph,
		"Launch":  s.Launch(scale, [3]uint32{2, 1, 1}, [3]uint32{128, 1, 1}, 0, &args),
		"CopyIn":  s.CopyIn(x, start(host), 4),
		"CopyOut": s.CopyOut(start(host), x, 4), "CopyDevice": s.CopyDevice(x, x+512, 4), "Clear": s.Clear(x, 4),
		"Synchronize": s.Synchronize(),
		"Record":      e.Record(s), "Wait": s.Wait(e), "Register": c.Register(host, false),
		"BeginCapture":        s.BeginCapture(),
		"Context.Synchronize": c.Synchronize(), "Event.Synchronize": e.Synchronize(),
	} {
		if err == nil || !errors.Is(err, lost) ||
			!strings.Contains(err.Error(), " on cuda:0: the device was lost before: ") {
			return fmt.Errorf("%s after the loss: %w", name, err)
		}
	}
	for name, err := range map[string]error{
		"Free": c.Free(x), "FreeHost": c.FreeHost(host), "Unregister": c.Unregister(host),
		"CloseImported": c.CloseImported(x),
		"Destroy":       s.Destroy(), "Event.Destroy": e.Destroy(), "Unload": m.Unload(),
	} {
		if err != nil {
			return fmt.Errorf("%s after the loss, of which it was told: %w", name, err)
		}
	}
	if err := c.Close(); !errors.Is(err, lost) || err.Error() != lost.Error() {
		return fmt.Errorf("the context's Close: %w", err)
	}
	return nil
}

// heard lets a call that frees a resource detect the loss; its input names the call. Only the first call reports
// the loss.
func heard() error {
	call, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	c, err := driver.Open(0)
	if err != nil {
		return err
	}
	x, alloc := c.Alloc(1024)
	m, load := c.LoadModule([]byte(ptx))
	s, stream := c.NewStream()
	e, event := c.NewEvent(driver.EventOptions{})
	if err := firstOf(alloc, load, stream, event); err != nil {
		return err
	}
	giveBack := map[string]func() error{
		"cuMemFree": func() error { return c.Free(x) }, "cuModuleUnload": m.Unload, "cuStreamDestroy": s.Destroy,
		"cuEventDestroy": e.Destroy,
	}[string(call)]
	lost := giveBack()
	var asked *driver.Error
	if !errors.As(lost, &asked) || !asked.Lost() || !c.Lost() {
		return fmt.Errorf("the first time it says %w", lost)
	}
	if err := giveBack(); err != nil {
		return fmt.Errorf("the second time it says %w", err)
	}
	if err := c.Close(); !errors.Is(err, lost) {
		return fmt.Errorf("the context's Close says %w", err)
	}
	return nil
}

// refused tries to pin and share memory, which the driver refuses, and then continues to use the device.
func refused() error {
	c, err := driver.Open(0)
	if err != nil {
		return err
	}
	x, alloc := c.Alloc(1024)
	host, mapped := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	e, event := c.NewEvent(driver.EventOptions{Interprocess: true})
	if err := firstOf(alloc, mapped, event); err != nil {
		return err
	}
	_, memory := c.ExportMemory(x)
	_, mark := c.ExportEvent(e)
	_, theirs := c.ImportMemory([64]byte{})
	_, event = c.ImportEvent([64]byte{})
	_, made := c.NewEvent(driver.EventOptions{Interprocess: true})
	for i, err := range []error{c.Register(host, false), memory, mark, theirs, event, made} {
		var asked *driver.Error
		if !errors.As(err, &asked) || asked.Code != driver.Unknown || asked.Lost() || asked.Advice != "" || c.Lost() {
			return fmt.Errorf("refusal %d is %w", i, err)
		}
	}
	return firstOf(c.Free(x), e.Destroy(), c.Close())
}

// A driver that refuses to pin or share memory may return an unknown error. The device does not count as lost then.
func TestRefusalsAreNoLoss(t *testing.T) {
	onDouble(t)
	const all = "cuMemHostRegister:1:999,cuIpcGetMemHandle:1:999,cuIpcGetEventHandle:1:999,cuIpcOpenMemHandle:1:999,cuIpcOpenEventHandle:1:999,cuEventCreate:2:999"
	if stdout, stderr, status := child(t, "refused", "", "PSBENCH_DOUBLE_FAIL="+all); status != 0 {
		t.Errorf("status %d: %s\n%s", status, stdout, stderr)
	}
}

func TestLossThatIsHeardAtTheEnd(t *testing.T) {
	onDouble(t)
	for _, call := range []string{"cuMemFree", "cuModuleUnload", "cuStreamDestroy", "cuEventDestroy"} {
		if stdout, stderr, status := child(t, "heard", call, "PSBENCH_DOUBLE_FAIL="+call+":1:999"); status != 0 {
			t.Errorf("%s: status %d: %s\n%s", call, status, stdout, stderr)
		}
	}
}

func TestDeviceThatIsLost(t *testing.T) {
	onDouble(t)
	for _, test := range []struct{ code, want string }{
		{"719", "(CUDA_ERROR_LAUNCH_FAILED, 719)"},
		{"999", "(CUDA_ERROR_UNKNOWN, 999)"},
	} {
		stdout, stderr, status := child(t, "lose", "", "PSBENCH_DOUBLE_LOST=3:"+test.code)
		const advice = ": this process can no longer use the device; if the card failed, the kernel log has the cause (dmesg, Xid)"
		if status != 0 || !strings.HasSuffix(stdout, test.want+advice) {
			t.Errorf("status %d: %s\n%s", status, stdout, stderr)
		}
	}
}
