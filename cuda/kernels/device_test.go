//go:build nvidia

package kernels

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/internal/simd"
)

// The device of all tests, its kernels, and the number of launches of each kernel.
var (
	context *driver.Context
	loaded  *Kernels
	reached [kernelCount]int64
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(onDevice(m))
}

func onDevice(m *testing.M) int {
	fail := func(err error) bool {
		if err != nil {
			fmt.Println(err)
		}
		return err != nil
	}
	// These tests use the kernels' products.
	err := os.Setenv(Variable, Own)
	if fail(err) {
		return 1
	}
	if context, err = driver.Open(0); fail(err) {
		return 1
	}
	if loaded, err = load(context, withoutBarrier()); fail(err) {
		return 1
	}
	code := 0
	if os.Getenv(barrierVariable) == "" {
		code = m.Run()
	} else if fail(crossBarriers()) {
		code = 1
	}
	if code == 0 && os.Getenv(barrierVariable) == "" && flag.Lookup("test.run").Value.String() == "" {
		for k, n := range reached {
			if n == 0 {
				fmt.Printf("kernel %s was launched by no test\n", names[k])
				code = 1
			}
		}
	}
	if fail(closeSpare()) || fail(loaded.Close()) || fail(context.Close()) {
		return 1
	}
	return code
}

// tester is a test or one example of a property test.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// bench is a queue and the memory of one example.
type bench struct {
	*Queue
	t      tester
	owned  []driver.Pointer
	closed bool
}

// spare are idle queues for reuse, because the double takes longer to create a queue than to run most examples.
var spare []*Queue

func begin(t tester) *bench {
	t.Helper()
	b := &bench{t: t}
	if last := len(spare) - 1; last >= 0 {
		b.Queue, spare = spare[last], spare[:last]
		b.launches, b.of = 0, [kernelCount]int64{}
	} else {
		stream, err := context.NewStream()
		b.must(err)
		b.Queue = loaded.On(stream)
		b.must(b.Err())
	}
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// end frees everything.
func (b *bench) end() {
	b.t.Helper()
	b.must(b.stream.Synchronize())
	for k, n := range b.of {
		reached[k] += n
	}
	for _, p := range b.owned {
		b.must(context.Free(p))
	}
	b.UseBLAS(nil)
	if b.must(b.err); !b.closed {
		spare = append(spare, b.Queue)
	} else {
		b.must(b.stream.Destroy())
	}
}

func closeSpare() error {
	var err error
	for _, q := range spare {
		err = errors.Join(err, q.Close(), q.stream.Destroy())
	}
	return err
}

// place copies host memory to a new allocation, offset elements after its beginning.
func place[T element](b *bench, host []T, offset int) []T {
	b.t.Helper()
	size := int(unsafe.Sizeof(*new(T)))
	p, err := context.Alloc(max(1, size*(offset+len(host))))
	b.must(err)
	b.owned = append(b.owned, p)
	p += driver.Pointer(size * offset)
	if len(host) > 0 {
		b.must(b.stream.CopyIn(p, unsafe.Pointer(unsafe.SliceData(host)), size*len(host)))
		b.must(b.stream.Synchronize())
	}
	return unsafe.Slice(*(**T)(unsafe.Pointer(&p)), len(host))
}

// fetched waits for the queue's work and returns the content of device memory.
func fetched[T element](b *bench, x []T) []T {
	b.t.Helper()
	b.must(b.Err())
	host := make([]T, len(x))
	if len(x) > 0 {
		b.must(b.stream.CopyOut(unsafe.Pointer(unsafe.SliceData(host)), pointer(x), len(x)*int(unsafe.Sizeof(x[0]))))
	}
	b.must(b.stream.Synchronize())
	return host
}

var specials = []float32{
	0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32,
	math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0x1p-127, 1, -1, 88.9, -103.5,
}

// roundsAsDevice reports whether the CPU's kernels round at the same places as the device's kernels. The results
// that are not finite depend on this.
func roundsAsDevice() bool {
	level, err := simd.Chosen()
	return err == nil && level != simd.Portable
}

// numbers draws values. In some examples, one value in eight is special; all others are normal.
type numbers struct {
	*rand.Rand
	special bool
}

func drawNumbers(t *rapid.T) numbers {
	seed, special := rapid.Uint64().Draw(t, "seed"), rapid.Bool().Draw(t, "special")
	return numbers{rand.New(rand.NewPCG(seed, 0)), special && roundsAsDevice()}
}

func (r numbers) floats(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		if x[i] = float32(r.NormFloat64()); r.special && r.IntN(8) == 0 {
			x[i] = specials[r.IntN(len(specials))]
		}
	}
	return x
}

// state draws an optimizer's state. state draws no negative sums of squares, because results from such sums depend
// on the CPU's rounding.
func (r numbers) state(n int) []float32 {
	x := r.floats(n)
	for i := range x {
		if !roundsAsDevice() && x[i] < 0 {
			x[i] = -x[i]
		}
	}
	return x
}

func (r numbers) indices(n, below int) []int64 {
	x := make([]int64, n)
	for i := range x {
		x[i] = r.Int64N(int64(below))
	}
	return x
}

// offsets draws the positions of arrays in their allocations. Half of the time, all have the same position.
func offsets(t *rapid.T, arrays int) []int {
	at := rapid.SliceOfN(rapid.IntRange(0, 4), arrays, arrays).Draw(t, "offsets")
	if rapid.Bool().Draw(t, "together") {
		for i := range at {
			at[i] = at[0]
		}
	}
	return at
}

// same requires the bits of want, except that all NaNs are equal. If the CPU rounds unlike vector instructions, a
// few roundings may differ.
func same(t tester, what string, got, want []float32) {
	t.Helper()
	if !roundsAsDevice() {
		largest := 1.
		for _, v := range want {
			if size := math.Abs(float64(v)); size > largest && !math.IsInf(size, 0) {
				largest = size
			}
		}
		near(t, what, got, want, 1e-4, 1e-4*largest)
		return
	}
	if len(got) != len(want) {
		t.Fatalf("%s has %d elements, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if g := got[i]; math.Float32bits(g) != math.Float32bits(w) && !(g != g && w != w) {
			t.Fatalf("%s: element %d of %d is %g (%#08x), want %g (%#08x)", what, i, len(want), g, math.Float32bits(g),
				w, math.Float32bits(w))
		}
	}
}

// near allows a relative and an absolute difference.
func near(t tester, what string, got, want []float32, relative, absolute float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d elements, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		g, w := float64(got[i]), float64(w)
		if g == w || g != g && w != w {
			continue
		}
		if !(math.Abs(g-w) <= relative*math.Abs(w)+absolute) || math.IsInf(w, 0) {
			t.Fatalf("%s: element %d of %d is %.9g, want %.9g", what, i, len(want), g, w)
		}
	}
}
