//go:build unix

package native

import (
	"os"
	"runtime/debug"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/simd"
)

// Kernels must not touch memory before or behind a matrix. The test places matrices between inaccessible pages, so
// such an access faults.
func TestGemmStaysInside(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	a, b, c := guarded(t), guarded(t), guarded(t)
	sizes := []int{1, 2, 4, 5, 7, 8, 13, 16, 17, 33}
	for _, level := range simd.Available() {
		e := New(level, 1) // its only worker is this goroutine, so the fault occurs here
		for i, m := range append(sizes, 67) {
			for j, n := range sizes {
				for l, k := range sizes {
					for transposes := range 4 {
						last := (i+j+l)%2 == 0
						inside(t, e, operands{transA: transposes&1 != 0, transB: transposes&2 != 0, m: m, n: n, k: k,
							alpha: 1, beta: float32(transposes & 1)},
							part(a, m*k, last), part(b, k*n, last), part(c, m*n, last))
					}
				}
			}
		}
	}
}

func inside(t *testing.T, e *Engine, o operands, a, b, c []float32) {
	defer func() {
		if fault := recover(); fault != nil {
			t.Fatalf("%s, %+v: %v", e.Level(), o, fault)
		}
	}()
	lda, ldb := o.k, o.n
	if o.transA {
		lda = o.m
	}
	if o.transB {
		ldb = o.k
	}
	e.Gemm(o.transA, o.transB, o.m, o.n, o.k, o.alpha, a, lda, b, ldb, o.beta, c, o.n)
}

// guarded returns memory between two inaccessible pages.
func guarded(t *testing.T) []float32 {
	page, size := os.Getpagesize(), 1<<16
	memory, err := unix.Mmap(-1, 0, page+size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(memory) })
	for _, guard := range [][]byte{memory[:page], memory[page+size:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&memory[page])), size/4)
}

// part returns the first or the last n elements.
func part(x []float32, n int, last bool) []float32 {
	if last {
		return x[len(x)-n:]
	}
	return x[:n:n]
}
