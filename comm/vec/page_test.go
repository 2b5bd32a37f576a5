package vec

import (
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// page maps one page between two that cannot be touched.
func page(t *testing.T) []float32 { return pages(t, 1) }

// pages does so with several.
func pages(t *testing.T, count int) []float32 {
	page := unix.Getpagesize()
	size := count * page
	m, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	for _, outer := range [][]byte{m[:page], m[page+size:]} {
		if err := unix.Mprotect(outer, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&m[page])), size/4)
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

// Copy takes four pages side by side and what is left, which lie anywhere, and touches nothing else.
func TestCopyOfPages(t *testing.T) {
	room := pages(t, 12)
	from := make([]float32, len(room))
	for i := range from {
		from[i] = float32(i + 1)
	}
	eachLevel(t, func(t *testing.T) {
		for _, n := range []int{0, 1, sideElements - 1, sideElements, sideElements + 1, 2*sideElements + 17,
			len(room)} {
			for _, at := range []int{0, (len(room) - n) / 2, len(room) - n} {
				clear(room)
				Copy(room[at:at+n], from[len(from)-n:])
				want := make([]float32, len(room))
				copy(want[at:at+n], from[len(from)-n:])
				if !slices.Equal(room, want) {
					t.Fatalf("%d elements to %d: not what a copy gives", n, at)
				}
				clear(room)
				copy(room[len(room)-n:], from[:n])
				got := make([]float32, n)
				if Copy(got, room[len(room)-n:]); !slices.Equal(got, from[:n]) {
					t.Fatalf("%d elements from the end of a page: not what a copy gives", n)
				}
			}
		}
	})
}
