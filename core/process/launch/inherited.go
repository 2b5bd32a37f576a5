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

// shielded are signals that a terminal, a shell or a user may send to all processes of psbench. The supervisor
// starts with them blocked, its threads inherit the mask, and it never ends by one of them.
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

// startShielded starts a command with the shielded signals blocked from its first moment, when it is still a copy
// of this process in this process's group.
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

// onCPUs forks on a thread that is restricted to these CPUs, which the child inherits, because Go can run no code
// between fork and exec to restrict the child itself. The goroutine must be locked to its thread; onCPUs restores
// the thread. Without CPUs it just forks.
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
	// The kernel ignores CPUs that the process may not use, and fails only if none is left.
	if err := unix.SchedSetaffinity(0, &wanted); err != nil {
		return fmt.Errorf("it cannot run on the CPUs %s: %w", cpus, err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }()
	if err := unix.SchedGetaffinity(0, &got); err != nil || got != wanted || got.Count() != len(cpus) {
		return fmt.Errorf("it cannot run on all of the CPUs %s", cpus)
	}
	return fork()
}
