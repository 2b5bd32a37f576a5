package shm

import (
	"fmt"

	"github.com/psbench/psbench/internal/procfs"
)

// headroom is what Reserve leaves to everything else, in bytes: stacks, sockets,
// page tables, and the error that says what is missing.
const headroom = 16 << 20

// Reserve reports that a segment of so many bytes for name does not fit into the
// memory there is, and by which limit. Nothing is set aside: pages of a segment
// that exceed a limit when they are touched end the process or another, so this
// is asked first.
func Reserve(name string, bytes int64) error {
	left, limit, err := procfs.MemoryLeft(procfs.Here())
	if err != nil {
		return fmt.Errorf("whether a segment of %s for %s fits is unknown: %w", sizeText(bytes), name, err)
	}
	return fits(name, bytes, left, limit)
}

// ReserveTogether is Reserve for several things, such as "the tables of server2 and
// server3", which need so many bytes together, on the heap or in segments: more than
// an int64 holds, too.
func ReserveTogether(things string, bytes float64) error {
	left, limit, err := procfs.MemoryLeft(procfs.Here())
	if err != nil {
		return fmt.Errorf("whether %s fit, which need %s, is unknown: %w", things, sizeText(bytes), err)
	}
	left = max(0, left-headroom)
	if bytes > float64(left) {
		return fmt.Errorf("%s need %s, which does not fit: %s are left (%s)", things, sizeText(bytes), sizeText(left),
			limit)
	}
	return nil
}

// fits reports that a segment for name does not fit into what is left by limit.
func fits(name string, bytes, left int64, limit string) error {
	left = max(0, left-headroom)
	if bytes > left {
		return fmt.Errorf("a segment of %s for %s does not fit: %s are left (%s)", sizeText(bytes), name,
			sizeText(left), limit)
	}
	return nil
}

// sizeText is a size in the largest binary unit that it reaches.
func sizeText[T int | int64 | uint64 | float64](bytes T) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	value, unit := float64(bytes), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.4g %s", value, units[unit])
}
