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

// shielded lists signals that a terminal, a shell or a user may send to all processes of psbench. The supervisor starts
// with these signals blocked. The supervisor's threads inherit the mask, so none of the signals ends the supervisor.
var shielded = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGTSTP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
	unix.SIGPIPE,
}

// shieldedMask returns shielded as a signal mask of a thread.
func shieldedMask() *unix.Sigset_t {
	var set unix.Sigset_t
	const bits = 8 * int(unsafe.Sizeof(set.Val[0]))
	for _, s := range shielded {
		at := int(s.(syscall.Signal)) - 1
		set.Val[at/bits] |= 1 << (at % bits)
	}
	return &set
}

// startShielded starts a command with the shielded signals blocked. The signals are blocked even while the new process
// is still a copy of this process and in this process's group.
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

// onCPUs calls fork on a thread that is restricted to the given CPUs, and the child inherits this restriction. Go
// cannot run code in the child between fork and exec, so the child cannot restrict itself. The caller must have locked
// the goroutine to its thread. onCPUs restores the thread afterwards. If cpus is empty, onCPUs only calls fork.
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
	// The kernel ignores CPUs that this process may not use. The kernel returns an error only if no other CPU remains.
	if err := unix.SchedSetaffinity(0, &wanted); err != nil {
		return fmt.Errorf("it cannot run on the CPUs %s: %w", cpus, err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }()
	if err := unix.SchedGetaffinity(0, &got); err != nil || got != wanted || got.Count() != len(cpus) {
		return fmt.Errorf("it cannot run on all of the CPUs %s", cpus)
	}
	return fork()
}
