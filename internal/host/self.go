package host

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/procfs"
)

// peakRSSBytes is the high-water mark of this process's resident memory, or 0
// if the kernel does not tell.
func peakRSSBytes() int64 {
	value := procfs.Field(procfs.Text(procfs.Here(), "proc/self/status"), "VmHWM")
	kib, err := strconv.ParseInt(strings.TrimSuffix(value, " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// realStderr is the standard error before go-plugin puts a pipe of its own in
// its place.
var realStderr = os.Stderr

// useStderr sends all output to the real standard error once the handshake is
// over. Go-plugin would take a library's output on the real standard output for
// its protocol, and a long line would block the process for ever. Its pipe also
// loses the last output of a process.
func useStderr() {
	_ = unix.Dup3(int(realStderr.Fd()), 1, 0) // #nosec G115 -- a descriptor
	os.Stdout, os.Stderr = realStderr, realStderr
}
