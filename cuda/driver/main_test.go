//go:build nvidia

package driver_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"github.com/psbench/psbench/cuda/driver"
)

// childVariable names the work of a test executable that a test started as another process.
const childVariable = "PSBENCH_DRIVER_TEST"

var children = map[string]func() error{
	"open":      openChild,
	"cards":     cards,
	"exhaust":   exhaust,
	"lose":      lose,
	"heard":     heard,
	"refused":   refused,
	"readOnly":  registerReadOnly,
	"import":    importChild,
	"apart":     importApart,
	"late":      late,
	"strays":    strays,
	"leaks":     leaks,
	"tooOldPTX": loadModule,
}

func TestMain(m *testing.M) {
	name := os.Getenv(childVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := children[name](); err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
}

// child runs this executable as another process, with additional environment and the given standard input. child
// returns the output and the exit status.
func child(t *testing.T, name, input string, environment ...string) (stdout, stderr string, status int) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	command := exec.Command(executable)
	command.Env = append(append(os.Environ(), childVariable+"="+name), environment...)
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &out, &errs
	_ = command.Run()
	return strings.TrimSpace(out.String()), strings.TrimSpace(errs.String()), command.ProcessState.ExitCode()
}

// open opens the first device until the test ends. Everything must be freed by then.
func open(t testing.TB) *driver.Context {
	t.Helper()
	c, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// onDouble skips a test that needs features of the driver's double.
func onDouble(t *testing.T) {
	t.Helper()
	if name := open(t).Device().Name; !strings.Contains(name, "double") {
		t.Skipf("%s fails at moments of its own, not on demand", name)
	}
}

func newStream(t testing.TB, c *driver.Context) *driver.Stream {
	t.Helper()
	return must(c.NewStream())(t).ended((*driver.Stream).Destroy)
}

func newEvent(t testing.TB, c *driver.Context, o driver.EventOptions) *driver.Event {
	t.Helper()
	return must(c.NewEvent(o))(t).ended((*driver.Event).Destroy)
}

func alloc(t testing.TB, c *driver.Context, bytes int) driver.Pointer {
	t.Helper()
	return must(c.Alloc(bytes))(t).ended(c.Free)
}

func allocHost(t testing.TB, c *driver.Context, bytes int) []byte {
	t.Helper()
	return must(c.AllocHost(bytes))(t).ended(c.FreeHost)
}

func newModule(t testing.TB, c *driver.Context) *driver.Module {
	t.Helper()
	return must(c.LoadModule([]byte(ptx)))(t).ended((*driver.Module).Unload)
}

func function(t testing.TB, m *driver.Module, name string) driver.Function {
	t.Helper()
	f, err := m.Function(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

type held[T any] struct {
	t     testing.TB
	value T
}

// must fails the test if there is an error.
func must[T any](value T, err error) func(testing.TB) held[T] {
	return func(t testing.TB) held[T] {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return held[T]{t, value}
	}
}

// ended frees the value when the test ends.
func (h held[T]) ended(end func(T) error) T {
	h.t.Cleanup(func() {
		if err := end(h.value); err != nil {
			h.t.Error(err)
		}
	})
	return h.value
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start returns the address of a slice.
func start[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// floats returns bytes as float values.
func floats(host []byte) []float32 {
	return unsafe.Slice((*float32)(start(host)), len(host)/4)
}

// ptx has two kernels: scale multiplies n values by a, and arguments stores its arguments.
const ptx = `.version 6.0
.target sm_70
.address_size 64

.visible .entry scale(.param .u64 scale_x, .param .f32 scale_a, .param .u32 scale_n)
{
	.reg .pred %p<2>;
	.reg .f32 %f<4>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [scale_x];
	ld.param.f32 %f1, [scale_a];
	ld.param.u32 %r1, [scale_n];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.s32 %r5, %r2, %r3, %r4;
	setp.ge.u32 %p1, %r5, %r1;
	@%p1 bra DONE;
	cvta.to.global.u64 %rd2, %rd1;
	mul.wide.u32 %rd3, %r5, 4;
	add.s64 %rd4, %rd2, %rd3;
	ld.global.f32 %f2, [%rd4];
	mul.f32 %f3, %f2, %f1;
	st.global.f32 [%rd4], %f3;
DONE:
	ret;
}

.visible .entry arguments(.param .u64 a_out, .param .u32 a_u32, .param .u32 a_i32, .param .u64 a_u64, .param .u64 a_i64, .param .f32 a_f32, .param .f64 a_f64)
{
	.reg .f32 %f<2>;
	.reg .f64 %fd<2>;
	.reg .b32 %r<3>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [a_out];
	cvta.to.global.u64 %rd2, %rd1;
	ld.param.u32 %r1, [a_u32];
	st.global.u32 [%rd2], %r1;
	ld.param.u32 %r2, [a_i32];
	st.global.u32 [%rd2+8], %r2;
	ld.param.u64 %rd3, [a_u64];
	st.global.u64 [%rd2+16], %rd3;
	ld.param.u64 %rd4, [a_i64];
	st.global.u64 [%rd2+24], %rd4;
	ld.param.f32 %f1, [a_f32];
	st.global.f32 [%rd2+32], %f1;
	ld.param.f64 %fd1, [a_f64];
	st.global.f64 [%rd2+40], %fd1;
	ret;
}
`
