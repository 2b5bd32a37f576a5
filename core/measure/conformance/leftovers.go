package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/procfs"
	"github.com/psbench/psbench/sdk"
)

// watch looks for leftovers of a run: temporary files, and processes that the part has started.
type watch struct{ folder string }

// leftovers runs the part and looks for leftovers before psbench removes them. Processes with this sdk report leftover
// goroutines themselves.
func (c *Check) leftovers(ctx context.Context, part sdk.Part) error {
	folder, err := os.MkdirTemp(c.folder, "tmp")
	if err != nil {
		return err
	}
	c.watched = &watch{folder}
	defer func() { c.watched = nil }()
	out, err := c.smallest(ctx, part)
	if err != nil {
		return err
	}
	for _, warning := range out.Warnings {
		if strings.Contains(warning, "leaves running") {
			return errors.New(warning)
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		return fmt.Errorf("it leaves temporary files, such as %s, %d in all, in TMPDIR",
			files[0].Name(), len(files))
	}
	return nil
}

// look searches for leftover processes after all parts are closed. These are the children of the run's own processes,
// and orphans. An orphan has the same parent as the run's own processes.
func (w *watch) look(own []int) error {
	parents := map[int]bool{}
	for _, pid := range own {
		parents[pid] = true
		if parent, ok := parentOf(pid); ok {
			parents[parent] = true
		}
	}
	pids, err := procfs.PIDs(procfs.Here())
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if slices.Contains(own, pid) {
			continue
		}
		if parent, ok := parentOf(pid); ok && parents[parent] {
			command := procfs.Text(procfs.Here(), fmt.Sprintf("proc/%d/cmdline", pid)) // "" if it ends meanwhile
			words := strings.ReplaceAll(strings.Trim(command, "\x00"), "\x00", " ")
			return fmt.Errorf("it leaves process %d, %s, running", pid, words)
		}
	}
	return nil
}

// parentOf returns the parent of a process. ok is false if the process has ended.
func parentOf(pid int) (parent int, ok bool) {
	s, ok := procfs.ReadStat(procfs.Here(), pid)
	return s.Parent, ok && s.State != "Z"
}
