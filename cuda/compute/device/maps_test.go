//go:build nvidia

package device

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMapsOfMemory(t *testing.T) {
	const maps = "1000-2000 r--s 00000000 00:00 0\n2000-3000 rw-s 00000000 00:01 5 /memfd:buckets (deleted)\nnonsense\n4000-5000 rw-p 0\nffff-10000 r-xs 0\n"
	for _, c := range []struct {
		from, to         uintptr
		shared, readOnly bool
	}{
		{0x0fff, 0x1001, false, false}, {0x1000, 0x2000, true, true}, {0x1fff, 0x2001, true, true},
		{0x2000, 0x3000, true, false},
		{0x2fff, 0x3001, false, false}, {0x3000, 0x3001, false, false}, {0x4000, 0x4001, false, false},
		{0xffff, 0x10000, true, true},
		{0xffff, 0x10001, false, false},
	} {
		if shared, readOnly := mappedBy(maps, c.from, c.to); shared != c.shared || readOnly != c.readOnly {
			t.Errorf("%#x to %#x is shared: %v, read-only: %v", c.from, c.to, shared, readOnly)
		}
	}
}

func TestSharedMemoryIsKnown(t *testing.T) {
	for _, c := range []struct {
		protection, kind int
		shared, readOnly bool
	}{
		{unix.PROT_READ, unix.MAP_SHARED, true, true},
		{unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED, true, false},
		{unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE, false, false},
	} {
		memory, err := unix.Mmap(-1, 0, 2*os.Getpagesize(), c.protection, c.kind|unix.MAP_ANON)
		if err != nil {
			t.Fatal(err)
		}
		if shared, readOnly := mapped(memory); shared != c.shared || readOnly != c.readOnly {
			t.Errorf("%+v is shared: %v, read-only: %v", c, shared, readOnly)
		}
		if err := unix.Munmap(memory); err != nil {
			t.Error(err)
		}
	}
	if shared, _ := mapped(make([]byte, 1<<20)); shared {
		t.Error("memory of Go is shared")
	}
}

func TestPagesOfMemory(t *testing.T) {
	page := os.Getpagesize()
	memory, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, begins, ends int }{
		{0, 1, 0, 1}, {1, 2, 0, 1}, {0, page, 0, 1}, {page - 1, page + 1, 0, 2}, {page, 3 * page, 1, 3},
		{page + 4, 3*page - 1, 1, 3},
	} {
		whole := pages(memory[c.from:c.to])
		if begins := offset(memory, whole); begins != c.begins*page || begins+len(whole) != c.ends*page {
			t.Errorf("the pages of %d to %d are %d bytes from %d on, want those from page %d to page %d", c.from, c.to,
				len(whole), begins, c.begins, c.ends)
		}
	}
	if err := unix.Munmap(memory); err != nil {
		t.Error(err)
	}
}
