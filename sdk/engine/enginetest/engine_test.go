package enginetest

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// touch is the environment variable that says what a child of the tests does with memory of an
// engine.
const touch = "TEST_TOUCH"

var touches = map[string]func(d *Dark, x []float32){
	"nothing": func(d *Dark, x []float32) {
		host := []float32{1, 2}
		if engine.In(d, x, host) != nil || engine.Out(d, host[:1], x[1:]) != nil || host[0] != 2 {
			panic("copies are wrong")
		}
	},
	"read":  func(_ *Dark, x []float32) { os.Exit(int(x[1])) },
	"write": func(_ *Dark, x []float32) { x[1] = 1 },
	"copy":  func(_ *Dark, x []float32) { copy(make([]float32, 2), x) },
	"freed": func(d *Dark, x []float32) {
		lit := d.litFloats(x)
		d.Free(tensor.Float32Bytes(x))
		// What is freed must not be where the next piece is.
		if _, err := engine.Floats(d, 2); err != nil {
			panic(err)
		}
		lit[0] = 1
	},
}

func TestMain(m *testing.M) {
	if what, ok := touches[os.Getenv(touch)]; ok {
		d := New(Full)
		x, err := engine.Floats(d, 2)
		if err != nil {
			panic(err)
		}
		what(d, x)
		return
	}
	goleak.VerifyTestMain(m)
}

// Whoever touches the engine's memory ends its process, whatever it does about panics.
func TestTouchingEndsTheProcess(t *testing.T) {
	for what := range touches {
		t.Run(what, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), touch+"="+what)
			out, err := cmd.CombinedOutput()
			exit := (*exec.ExitError)(nil)
			faulted := errors.As(err, &exit) && strings.Contains(string(out), "unexpected fault address")
			if what == "nothing" && err != nil || what != "nothing" && !faulted {
				t.Errorf("%s gives %v\n%s", what, err, out)
			}
		})
	}
}

func TestCloseFindsWhatIsAdopted(t *testing.T) {
	d := New(Full)
	host := make([]byte, 8)
	adopted, err := d.Adopt(host)
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.Adopt(make([]byte, 8))
	if err != nil {
		t.Fatal(err)
	}
	if err := adopted.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err == nil || err.Error() != "engine dark ends while 1 pieces of memory are adopted" {
		t.Errorf("it ends with %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBorderNoticesOtherMemory(t *testing.T) {
	d := New(Full)
	defer func() {
		if recover() == nil {
			t.Error("ordinary memory is taken for the engine's")
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	d.litFloats(make([]float32, 3))
}

func TestMemoryIsFreed(t *testing.T) {
	d := New(Full)
	inside := d.Inside()
	x, err := engine.Grow(inside, nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	x[2] = 7
	if x, err = engine.Grow(inside, x, 5000); err != nil || len(d.blocks) != 1 || x[2] != 0 {
		t.Errorf("there are %d blocks, %v", len(d.blocks), err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
