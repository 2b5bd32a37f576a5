package points

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm/tensor"
)

// guardedFloats are n values that end where a page begins that nobody may touch: who writes one
// too many, as only assembly, a C library or unsafe code can, faults. free gives them back.
func guardedFloats(n int) (values []float32, freeze func() error, free func(), err error) {
	page := os.Getpagesize()
	size := (4*max(1, n) + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("guarded memory: %w", err)
	}
	free = func() { _ = unix.Munmap(memory) } // nothing can be done
	for _, outer := range [][]byte{memory[:page], memory[page+size:]} {
		if err := unix.Mprotect(outer, unix.PROT_NONE); err != nil {
			free()
			return nil, nil, nil, fmt.Errorf("guarded memory: %w", err)
		}
	}
	inner := memory[page : page+size]
	freeze = func() error { return unix.Mprotect(inner, unix.PROT_READ) }
	return tensor.ViewFloat32(inner[size-4*n : size : size]), freeze, free, nil
}
