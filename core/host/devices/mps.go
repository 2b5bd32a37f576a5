package devices

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// pipeVariable is the variable with the folder where clients find MPS. pipeFolder is the default folder.
const (
	pipeVariable = "CUDA_MPS_PIPE_DIRECTORY"
	pipeFolder   = "/tmp/nvidia-mps"
)

// lookForMPS reports whether processes would use MPS. lookForMPS tries to connect to MPS's control daemon, as the
// driver does when a process starts.
func lookForMPS() MPS {
	folder := cmp.Or(os.Getenv(pipeVariable), pipeFolder)
	control := filepath.Join(folder, "control")
	info, err := os.Stat(control) // #nosec G703 -- where the driver looks, too
	if err != nil {
		return MPS{Known: fmt.Sprintf("no MPS control daemon has its pipe in %s", folder)}
	}
	if listened(control, info.Mode()) {
		return MPS{Used: true, Known: fmt.Sprintf("an MPS control daemon answers at %s", control)}
	}
	return MPS{Known: fmt.Sprintf("%s exists, but no MPS control daemon answers there", control)}
}

// listened reports whether a process listens on a socket or named pipe. listened never blocks.
func listened(path string, mode os.FileMode) bool {
	if mode&os.ModeNamedPipe != 0 {
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0) // fails if there is no reader
		if err == nil {
			_ = unix.Close(fd)
		}
		return err == nil
	}
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return false
		}
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		_ = unix.Close(fd)
		if err == nil || errors.Is(err, unix.EAGAIN) { // EAGAIN means that its queue of callers is full
			return true
		}
	}
	return false
}
