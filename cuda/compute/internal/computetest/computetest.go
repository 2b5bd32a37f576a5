//go:build nvidia

// Package computetest provides helpers for tests of parts on a device. The tests run unchanged on the double of the
// driver and on a GPU.
package computetest

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/sdk/engine"
)

// streams is the double's environment variable that selects when streams do their work.
const streams = "PSBENCH_DOUBLE_STREAMS"

// strict are variables that make the double of the driver find errors. The double then ends a process that misuses
// the driver. It delays queued work by 5 s unless something waits for the work, so that a missing wait shows. It frees
// memory at once, even while work uses the memory.
var strict = []string{"PSBENCH_DOUBLE_EXIT=97", "PSBENCH_DOUBLE_IDLE_MS=5000", "PSBENCH_DOUBLE_STRICT=1"}

// Main runs the tests once for each order in which the double's streams may do their work. A missing wait shows in
// one of them. In the order latest, no work is done before something waits for it.
func Main(m *testing.M) {
	if os.Getenv(streams) != "" {
		os.Exit(m.Run())
	}
	for _, policy := range []string{"latest", "random"} {
		if err := again(os.Args[1:], append(strict, streams+"="+policy)...); err != nil {
			fmt.Println("the streams of the double did their work in order:", policy)
			os.Exit(1)
		}
	}
}

// Latest reports whether this device does no work before something waits for it. The double has such a mode.
func Latest(d *device.Device) bool { return double(d) && os.Getenv(streams) == "latest" }

func double(d *device.Device) bool { return strings.Contains(d.Context().Device().Name, "double") }

// OnDouble skips a test that needs features of the double.
func OnDouble(t testing.TB) {
	t.Helper()
	d, err := device.Open(0)
	Must(t, err)
	is, name := double(d), d.Context().Device().Name
	Must(t, d.Close())
	if !is {
		t.Skipf("%s fails at moments of its own, not on demand", name)
	}
}

func again(arguments []string, environment ...string) error {
	cmd := exec.Command("/proc/self/exe", arguments...) //nolint:gosec // the test itself
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// child marks a process that runs only one test.
const child = "TEST_CUDA_CHILD"

// Alone runs test in a separate process with extra environment variables, which the double reads at its start.
func Alone(t *testing.T, test func(t *testing.T), variables ...string) {
	t.Helper()
	if os.Getenv(child) == t.Name() {
		test(t)
		return
	}
	if err := again([]string{"-test.run=^" + t.Name() + "$"},
		slices.Concat(strict, variables, []string{child + "=" + t.Name(), streams + "=latest"})...); err != nil {
		t.Errorf("with %v: %v", variables, err)
	}
}

// Open opens device 0 and closes it at the end of the test. The close reports leaks.
func Open(t testing.TB) *device.Device {
	t.Helper()
	d, err := device.Open(0)
	Must(t, err)
	t.Cleanup(func() { Must(t, d.Close()) })
	return d
}

// Must fails the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Shared returns n numbers of the host in whole pages of shared memory, like the buckets of a segment. Such memory
// can be pinned, unlike Go memory.
func Shared(t testing.TB, n int) []float32 {
	t.Helper()
	page := os.Getpagesize()
	memory, err := unix.Mmap(-1, 0, max(1, (4*n+page-1)/page)*page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_ANON)
	Must(t, err)
	t.Cleanup(func() { Must(t, unix.Munmap(memory)) })
	return tensor.ViewOf[float32](memory, n)
}

// In copies numbers to new memory of a device.
func In(t testing.TB, d *device.Device, numbers []float32) []float32 {
	t.Helper()
	memory, err := engine.Floats(d, len(numbers))
	Must(t, err)
	Must(t, engine.In(d, memory, numbers))
	return memory
}

// Out copies memory of a device to the host.
func Out(t testing.TB, d *device.Device, memory []float32) []float32 {
	t.Helper()
	numbers := make([]float32, len(memory))
	Must(t, engine.Out(d, numbers, memory))
	return numbers
}

// Tensor copies a tensor to a device.
func Tensor(t testing.TB, d *device.Device, x tensor.Tensor) tensor.Tensor {
	t.Helper()
	return tensor.Tensor{Shape: x.Shape, Data: In(t, d, x.Data)}
}

// Near requires that each number deviates from the wanted one by at most tolerance, relative to the larger of its
// size and 1.
func Near(t testing.TB, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		if math.IsNaN(g) != math.IsNaN(w) || math.Abs(g-w) > tolerance*max(1, math.Abs(w)) {
			t.Fatalf("%s: number %d of %d is %g, want %g", what, i, len(want), g, w)
		}
	}
}

// Random returns numbers from -1 to below 1, the same for the same seed.
func Random(n int, seed uint64) []float32 {
	out := make([]float32, n)
	for i := range out {
		seed = seed*6364136223846793005 + 1442695040888963407
		out[i] = float32(seed>>40)/(1<<23) - 1
	}
	return out
}
