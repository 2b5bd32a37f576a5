package host

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/procfs"
)

// peakRSSBytes returns this process's peak resident memory in bytes, or 0 if the kernel does not
// report it.
func peakRSSBytes() int64 {
	value := procfs.Field(procfs.Text(procfs.Here(), "proc/self/status"), "VmHWM")
	kib, err := strconv.ParseInt(strings.TrimSuffix(value, " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// realStderr is standard error before go-plugin replaces it with a pipe.
var realStderr = os.Stderr

// useStderr sends all output to the real standard error once the handshake is over. Otherwise
// go-plugin would read a library's output on standard output as its protocol. A long line would
// then block the process for ever. Go-plugin's pipe also loses the last output of a process.
func useStderr() {
	_ = unix.Dup3(int(realStderr.Fd()), 1, 0) // #nosec G115 -- a descriptor
	os.Stdout, os.Stderr = realStderr, realStderr
}
