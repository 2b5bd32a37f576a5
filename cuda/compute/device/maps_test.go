//go:build nvidia

package device

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestMapsOfMemory(t *testing.T) {
	const maps = "1000-2000 r--p 00000000 00:00 0\n2000-3000 rw-s 00000000 00:01 5 /memfd:buckets (deleted)\nnonsense\nffff-10000 r-xp 0\n"
	for address, want := range map[uintptr]bool{0x0fff: false, 0x1000: true, 0x1fff: true, 0x2000: false, 0x3000: false, 0xffff: true} {
		if got := readOnlyIn(maps, address); got != want {
			t.Errorf("%#x is read-only: %v", address, got)
		}
	}
}

func TestReadOnlyMemoryIsKnown(t *testing.T) {
	for protection, want := range map[int]bool{unix.PROT_READ: true, unix.PROT_READ | unix.PROT_WRITE: false} {
		memory, err := unix.Mmap(-1, 0, 4096, protection, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			t.Fatal(err)
		}
		if got := readOnly(memory); got != want {
			t.Errorf("protection %d is read-only: %v", protection, got)
		}
		if err := unix.Munmap(memory); err != nil {
			t.Error(err)
		}
	}
}
