package shm

import (
	"fmt"
	"testing"

	"github.com/psbench/psbench/internal/procfs"
)

func TestReserveHere(t *testing.T) {
	bytes, limit, err := procfs.MemoryLeft(procfs.Here())
	must(t, err)
	if bytes <= 0 || limit == "" {
		t.Errorf("%d bytes are left (%s)", bytes, limit)
	}
	must(t, Reserve("trainer0", 1))
	requireError(t, Reserve("trainer0", 1<<60), "a segment of 1 EiB for trainer0 does not fit: ",
		" are left ("+limit+")")
	must(t, ReserveTogether("two segments", 1))
	requireError(t, ReserveTogether("two segments", 1<<70), "two segments need 1024 EiB, which does not fit: ",
		" are left ("+limit+")")
}

func TestFits(t *testing.T) {
	must(t, fits("trainer0", 100<<20, 100<<20+headroom, "memory.max of cgroup /x"))
	must(t, fits("trainer0", 0, 0, "memory.max of cgroup /x"))
	err := fits("trainer0", 400<<20, 136<<20, "memory.max of cgroup /x")
	requireError(t, err, "a segment of 400 MiB for trainer0 does not fit: 120 MiB are left (memory.max of cgroup /x)")
	err = fits("trainer0", 1, headroom, "memory.max of cgroup /x")
	requireError(t, err, "a segment of 1 bytes for trainer0 does not fit: 0 bytes are left")
}

func TestSizeText(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1.5 KiB",
		400 << 20: "400 MiB", 1<<63 - 1: "8 EiB"} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) {
			if got := sizeText(bytes); got != want {
				t.Errorf("%d bytes are %q, want %q", bytes, got, want)
			}
		})
	}
}
