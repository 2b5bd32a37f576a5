package vec

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// page maps one page between two that cannot be touched.
func page(t *testing.T) []float32 {
	size := unix.Getpagesize()
	m, err := unix.Mmap(-1, 0, 3*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	for _, outer := range [][]byte{m[:size], m[2*size:]} {
		if err := unix.Mprotect(outer, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&m[size])), size/4)
}

// A kernel that reads or writes one element beyond its slices ends the test's process.
func TestNothingOutsideIsTouched(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		eachKernel(t, func(t *testing.T, k kernel) {
			var pages [][]float32
			for range k.slices {
				pages = append(pages, page(t))
			}
			for n := range 300 {
				var first, last [][]float32
				for _, p := range pages {
					first, last = append(first, p[:n]), append(last, p[len(p)-n:])
				}
				k.run(first)
				k.run(last)
			}
		})
	})
}

// The numbers of the rows may lie at the end of a page as well.
func TestRowNumbersAtTheEndOfAPage(t *testing.T) {
	p := page(t)
	rows := unsafe.Slice((*int64)(unsafe.Pointer(&p[0])), len(p)/2)
	rows32 := unsafe.Slice((*int32)(unsafe.Pointer(&p[0])), len(p))
	table, dst := make([]float32, 40), make([]float32, 20*40)
	eachLevel(t, func(t *testing.T) {
		for n := range 20 {
			GatherSum(dst[:40], table, 40, rows[len(rows)-n:])
			GatherRows(dst, table, 40, rows[len(rows)-n:])
			ScatterAxpy(1, dst, table, 40, rows32[len(rows32)-n:])
		}
	})
}
