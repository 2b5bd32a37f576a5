package launch

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/host/machine"
)

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
