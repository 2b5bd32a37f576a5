package launch

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shielded are the signals that a terminal, a shell or a user may send to all
// processes of psbench. The supervisor is started with them blocked, which its threads
// inherit, and never ends by one.
var shielded = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGTSTP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGPIPE,
}

// shieldedMask is shielded as a thread's mask.
func shieldedMask() *unix.Sigset_t {
	var set unix.Sigset_t
	const bits = 8 * int(unsafe.Sizeof(set.Val[0]))
	for _, s := range shielded {
		at := int(s.(syscall.Signal)) - 1
		set.Val[at/bits] |= 1 << (at % bits)
	}
	return &set
}

// startShielded starts a command with the shielded signals blocked in it from its
// first moment on, when it is still a copy of this process in this process's group.
func startShielded(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, shieldedMask(), &before); err != nil {
		return err
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	return start()
}
