package shm

import (
	"fmt"

	"github.com/psbench/psbench/internal/procfs"
)

// headroom is the memory that Reserve leaves free, in bytes: for stacks,
// sockets, page tables, and the error message about missing memory.
const headroom = 16 << 20

// Reserve returns an error if a segment of this size for name does not fit into
// the available memory; the error names the limit. Reserve does not set memory
// aside. Call it before touching pages: if touched pages exceed a limit, the
// kernel kills this process or another.
func Reserve(name string, bytes int64) error {
	left, limit, err := procfs.MemoryLeft(procfs.Here())
	if err != nil {
		return fmt.Errorf("cannot tell whether a segment of %s for %s fits: %w", sizeText(bytes), name, err)
	}
	return fits(name, bytes, left, limit)
}

// ReserveTogether is Reserve for several things together, on the heap or in
// segments, such as "the tables of server2 and server3". bytes may exceed an
// int64.
func ReserveTogether(things string, bytes float64) error {
	left, limit, err := procfs.MemoryLeft(procfs.Here())
	if err != nil {
		return fmt.Errorf("cannot tell whether %s fit, which need %s: %w", things, sizeText(bytes), err)
	}
	left = max(0, left-headroom)
	if bytes > float64(left) {
		return fmt.Errorf("%s need %s, which does not fit: %s are left (%s)", things, sizeText(bytes), sizeText(left),
			limit)
	}
	return nil
}

// fits returns an error if a segment for name does not fit into the memory left
// under limit.
func fits(name string, bytes, left int64, limit string) error {
	left = max(0, left-headroom)
	if bytes > left {
		return fmt.Errorf("a segment of %s for %s does not fit: %s are left (%s)", sizeText(bytes), name,
			sizeText(left), limit)
	}
	return nil
}

// sizeText formats a size in the largest binary unit that gives at least 1.
func sizeText[T int | int64 | uint64 | float64](bytes T) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	value, unit := float64(bytes), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.4g %s", value, units[unit])
}
