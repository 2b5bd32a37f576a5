package launch

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/host/machine"
)

// shielded are the signals that a terminal, a shell or a user may send to all
// processes of psbench. The supervisor is started with them blocked, which its threads
// inherit, and never ends by one.
var shielded = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGTSTP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
	unix.SIGPIPE,
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

// onCPUs forks on a thread that may run on these CPUs alone, which the child inherits: Go runs nothing between
// fork and exec that could restrict the child itself. The goroutine must be locked to its thread, which is as
// it was before when onCPUs returns. Without CPUs it just forks.
func onCPUs(cpus machine.CPUs, fork func() error) error {
	if len(cpus) == 0 {
		return fork()
	}
	var before, wanted, got unix.CPUSet
	for _, cpu := range cpus {
		wanted.Set(cpu)
	}
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("its CPUs cannot be changed: %w", err)
	}
	// The kernel leaves out what the process may not have, and complains only if nothing is left.
	if err := unix.SchedSetaffinity(0, &wanted); err != nil {
		return fmt.Errorf("it cannot run on the CPUs %s: %w", cpus, err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }()
	if err := unix.SchedGetaffinity(0, &got); err != nil || got != wanted || got.Count() != len(cpus) {
		return fmt.Errorf("it cannot run on all of the CPUs %s", cpus)
	}
	return fork()
}
