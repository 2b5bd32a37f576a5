package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/sdk"
)

// watch looks for what a run leaves: temporary files, and processes that none of its own are.
type watch struct{ folder string }

// leftovers carries out a run of the part and looks for what that left, before psbench removes it.
// What goroutines are left a process that is of this sdk says itself.
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
		return fmt.Errorf("it leaves %s, and %d files in all, in the folder for temporary files (TMPDIR)", files[0].Name(), len(files))
	}
	return nil
}

// look looks for processes that those of a run have started, once all parts are closed: children of
// theirs, and orphans, which have the parent of the run's own.
func (w *watch) look(own []int) error {
	parents := map[int]bool{}
	for _, pid := range own {
		parents[pid] = true
		if parent, ok := parentOf(pid); ok {
			parents[parent] = true
		}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || slices.Contains(own, pid) {
			continue
		}
		if parent, ok := parentOf(pid); ok && parents[parent] {
			command, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline")) // it may end meanwhile
			return fmt.Errorf("it leaves process %d, %s, running", pid, strings.Join(strings.Split(strings.Trim(string(command), "\x00"), "\x00"), " "))
		}
	}
	return nil
}

// parentOf is the parent of a process that has not ended.
func parentOf(pid int) (parent int, ok bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 2 || fields[0] == "Z" {
		return 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, err == nil
}
