//go:build nvidia

package driver_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/psbench/psbench/cuda/driver"
)

func openChild() error {
	c, err := driver.Open(0)
	if err != nil {
		return err
	}
	return c.Close()
}

// A process that cannot use CUDA ends before its main function, with a message on standard error. The process
// prints nothing on standard output, which is for a plugin's address.
func TestDriverThatDoesNotServe(t *testing.T) {
	onDouble(t)
	for _, test := range []struct{ environment, want string }{
		{"PSBENCH_DOUBLE_DEVICES=0",
			"the NVIDIA driver does not start: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE, 100): " +
				"it shows no GPU to this process: nvidia-smi lists the devices, and CUDA_VISIBLE_DEVICES or a container may hide it"},
		{"PSBENCH_DOUBLE_VERSION=10020",
			"the NVIDIA driver supports CUDA 10.2 but must support 11.0 or newer: install driver 450 or newer"},
		{"PSBENCH_DOUBLE_FAIL=cuInit:1:999",
			"the NVIDIA driver does not start: unknown error (CUDA_ERROR_UNKNOWN, 999): nvidia-smi shows whether the driver works"},
	} {
		stdout, stderr, status := child(t, "open", "", test.environment)
		if stdout != "" || stderr != test.want || status != 1 {
			t.Errorf("%s: status %d, stdout %q, stderr\n%s\nbut must be\n%s", test.environment, status, stdout, stderr,
				test.want)
		}
	}
}

func TestOpenRefusesOrdinals(t *testing.T) {
	for _, ordinal := range []int{-1, 1000} {
		_, err := driver.Open(ordinal)
		if err == nil ||
			!strings.HasPrefix(err.Error(), fmt.Sprintf("there is no device cuda:%d: the driver shows ", ordinal)) {
			t.Errorf("%d: %v", ordinal, err)
		}
	}
}

func TestCardThatIsTaken(t *testing.T) {
	onDouble(t)
	for _, test := range []struct{ mode, want string }{
		{"busy",
			"cuDevicePrimaryCtxRetain on cuda:0: CUDA-capable device(s) is/are busy or unavailable (CUDA_ERROR_DEVICE_UNAVAILABLE, 46): " +
				"the card's compute mode is exclusive process, so only one process at a time can use it: end that process, start MPS, or set nvidia-smi -c DEFAULT"},
		{"prohibited", "cuDevicePrimaryCtxRetain on cuda:0: unknown error (CUDA_ERROR_UNKNOWN, 999): " +
			"the card's compute mode is prohibited, so no process may use it: set another by nvidia-smi -c DEFAULT"},
	} {
		stdout, _, status := child(t, "open", "", "PSBENCH_DOUBLE_EXCLUSIVE="+test.mode)
		if status != 3 || stdout != test.want {
			t.Errorf("%s: status %d: %s\nbut must be\n%s", test.mode, status, stdout, test.want)
		}
	}
}

// exhaust allocates memory until the driver refuses, prints the driver's error, and checks that freed memory can be
// allocated again.
func exhaust() error {
	c, err := driver.Open(0)
	if err != nil {
		return err
	}
	const size = 3 << 20
	var all []driver.Pointer
	var refused error
	for refused == nil {
		var p driver.Pointer
		if p, refused = c.Alloc(size); refused == nil {
			all = append(all, p)
		}
	}
	var e *driver.Error
	if !errors.As(refused, &e) || e.Code != driver.OutOfMemory {
		return fmt.Errorf("the error is of another type: %w", refused)
	}
	fmt.Println(refused)
	for _, p := range all {
		if err := c.Free(p); err != nil {
			return err
		}
	}
	p, err := c.Alloc(size)
	if err != nil {
		return err
	}
	return firstOf(c.Free(p), c.Close())
}

func TestOutOfMemory(t *testing.T) {
	onDouble(t)
	stdout, stderr, status := child(t, "exhaust", "", "PSBENCH_DOUBLE_MEMORY=16777216")
	var free, total int
	const form = "cuMemAlloc of 3145728 bytes on cuda:0: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2): %d of %d bytes are free"
	if _, err := fmt.Sscanf(stdout, form, &free, &total); err != nil || status != 0 || total != 16777216 ||
		free >= 3145728 {
		t.Errorf("status %d: %s\n%s", status, stdout, stderr)
	}
}

func TestAllocRefusesSizes(t *testing.T) {
	c := open(t)
	for _, bytes := range []int{0, -8} {
		if _, err := c.Alloc(bytes); err == nil ||
			err.Error() != fmt.Sprintf("cuMemAlloc of %d bytes on cuda:0: a size must be positive", bytes) {
			t.Errorf("%v", err)
		}
		if _, err := c.AllocHost(bytes); err == nil ||
			err.Error() != fmt.Sprintf("cuMemHostAlloc of %d bytes on cuda:0: a size must be positive", bytes) {
			t.Errorf("%v", err)
		}
	}
}

func TestModulesThatDoNotLoad(t *testing.T) {
	c := open(t)
	_, err := c.LoadModule(
		[]byte(".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry f() { frobnicate.u32 %r1; }\n"))
	var e *driver.Error
	if !errors.As(err, &e) || e.Code != driver.InvalidPTX || e.Advice == "" ||
		!strings.HasPrefix(e.Asked, "cuModuleLoadDataEx of ") {
		t.Errorf("%v", err)
	}
	m := newModule(t, c)
	if _, err = m.Function("axpy"); !errors.As(err, &e) || e.Code != driver.NotFound ||
		!strings.HasPrefix(err.Error(), "cuModuleGetFunction of axpy on cuda:0: ") {
		t.Errorf("%v", err)
	}
}

func loadModule() error {
	c, err := driver.Open(0)
	if err != nil {
		return err
	}
	_, err = c.LoadModule([]byte(ptx))
	return err
}

func TestPTXThatTheDriverIsTooOldFor(t *testing.T) {
	onDouble(t)
	for _, test := range []struct{ fail, want string }{
		{"cuModuleLoadDataEx:1:222", "the driver, of CUDA 11.8, is too old for this PTX: install a newer one"},
		{"cuModuleLoadDataEx:1:209", "the card, of compute capability 8.0, is too old for this PTX"},
	} {
		stdout, _, status := child(t, "tooOldPTX", "", "PSBENCH_DOUBLE_FAIL="+test.fail)
		if status != 3 || !strings.HasSuffix(stdout, test.want) {
			t.Errorf("%s: status %d: %s", test.fail, status, stdout)
		}
	}
}

func TestTooManyArguments(t *testing.T) {
	c := open(t)
	s, scale := newStream(t, c), function(t, newModule(t, c), "scale")
	var args driver.Args
	for range 33 {
		args.U32(1)
	}
	err := s.Launch(scale, [3]uint32{1, 1, 1}, [3]uint32{1, 1, 1}, 0, &args)
	if err == nil || err.Error() != "kernel scale is given 33 arguments, but there is room for 32" {
		t.Errorf("%v", err)
	}
}

func TestLaunchThatIsRefused(t *testing.T) {
	c := open(t)
	s, scale, x := newStream(t, c), function(t, newModule(t, c), "scale"), alloc(t, c, 4)
	var args driver.Args
	args.Pointer(x)
	args.F32(1)
	args.U32(1)
	err := s.Launch(scale, [3]uint32{1, 1, 1}, [3]uint32{2048, 1, 1}, 0, &args)
	if err == nil || !strings.HasPrefix(err.Error(),
		"cuLaunchKernel of scale with a grid of [1 1 1] and blocks of [2048 1 1] on cuda:0: invalid argument (CUDA_ERROR_INVALID_VALUE, 1)") {
		t.Errorf("%v", err)
	}
}

func registerReadOnly() error {
	c, err := driver.Open(0)
	if err != nil {
		return err
	}
	host, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED|syscall.MAP_ANON)
	if err != nil {
		return err
	}
	if err := c.Register(host, false); err == nil {
		return errors.New("read-only memory is registered as if it could be written")
	}
	if err := c.Register(host, true); err != nil {
		return err
	}
	return firstOf(c.Unregister(host), c.Close())
}

func TestReadOnlyMemory(t *testing.T) {
	onDouble(t)
	if stdout, stderr, status := child(t, "readOnly", "", "PSBENCH_DOUBLE_READ_ONLY=1"); status != 0 {
		t.Errorf("status %d: %s\n%s", status, stdout, stderr)
	}
	stdout, _, status := child(t, "readOnly", "") // on the real cards, without a configuration of the double
	if status != 3 || !strings.HasPrefix(stdout, "cuMemHostRegister of 4096 bytes on cuda:0: ") ||
		!strings.Contains(stdout, "CUDA_ERROR_NOT_SUPPORTED, 801") {
		t.Errorf("status %d: %s", status, stdout)
	}
}

// leaks frees none of the resources of a context.
func leaks() error {
	c, err := driver.Open(0)
	if err != nil {
		return err
	}
	host, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	if err != nil {
		return err
	}
	_, a := c.Alloc(4096)
	_, b := c.Alloc(4)
	_, pinned := c.AllocHost(512)
	_, stream := c.NewStream()
	_, event := c.NewEvent(driver.EventOptions{})
	_, module := c.LoadModule([]byte(ptx))
	if err := firstOf(a, b, pinned, c.Register(host, false), stream, event, module); err != nil {
		return err
	}
	return c.Close()
}

func TestCloseReportsLeaks(t *testing.T) {
	stdout, stderr, status := child(t, "leaks", "")
	const want = "cuda:0 is closed while it holds allocations of device memory: 2 (4100 bytes), allocations of pinned memory: 1 (512 bytes), " +
		"registrations of host memory: 1 (4096 bytes), streams: 1, events: 1, modules: 1"
	if status != 3 || stdout != want {
		t.Errorf("status %d: %s\n%s", status, stdout, stderr)
	}
}
