package conduct

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/study/sweep/journal"
)

// smallDisk returns a folder on a disk of a few pages.
func smallDisk(t *testing.T, pages int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", pages*os.Getpagesize())); err != nil {
		t.Skipf("a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A run that fills the disk ends the sweep, and earlier results stay. Once the disk has room, the sweep continues.
func TestSmallDiskThatARunFills(t *testing.T) {
	dir := filepath.Join(smallDisk(t, 256), "sweep")
	p := planOf(t, 2, "work", "fill")
	err := Run(t.Context(), dir, p, options())
	if err == nil ||
		!strings.HasPrefix(err.Error(), "the sweep "+dir+" has ended early: the disk is full: make room (write ") ||
		strings.Contains(err.Error(), "\n") {
		t.Fatalf("it said %v", err)
	}
	before := written(t, dir)
	fillers, _ := filepath.Glob(filepath.Join(dir, "runs/*/*/filler"))
	if len(fillers) != 1 {
		t.Fatalf("there are the fillers %v", fillers)
	}
	if err := errors.Join(os.Remove(fillers[0]),
		os.WriteFile(filepath.Join(dir, "cells", "room"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), dir, p, options()); err != nil {
		t.Error(err)
	}
	after := written(t, dir)
	for run, when := range before {
		if after[run] != when {
			t.Errorf("%s ran again", run)
		}
	}
	if got := states(t, dir); strings.Count(got, "done\n") != 4 {
		t.Errorf("the runs are\n%s", got)
	}
}

// On a full disk of any size, the sweep ends with an error message. It continues once the disk has room.
func TestSmallDiskThatIsFull(t *testing.T) {
	p := planOf(t, 1, "work")
	failed := 0
	for pages := 1; pages < 64; pages += 3 {
		disk := smallDisk(t, pages)
		dir := filepath.Join(disk, "sweep")
		err := Run(t.Context(), dir, p, options())
		if err == nil {
			break
		}
		failed++
		if !strings.Contains(err.Error(), "no space left on device") &&
			!strings.Contains(err.Error(), "the disk is full") || strings.Contains(err.Error(), "\n") {
			t.Errorf("with %d pages it said %v", pages, err)
		}
		if err := unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, "size=4m"); err != nil {
			t.Fatal(err)
		}
		if err := Run(t.Context(), dir, p, options()); err != nil {
			t.Errorf("of %d pages, with room it said %v", pages, err)
		}
		if got := states(t, dir); got != "cell=0 work/0 done\n" {
			t.Errorf("of %d pages the runs are\n%s", pages, got)
		}
	}
	if failed < 3 {
		t.Errorf("%d disks were full", failed)
	}
}

func TestNoPermission(t *testing.T) {
	dir := t.TempDir()
	for path := dir; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil { // #nosec G302 -- others are to come as far
			t.Fatal(err)
		}
	}
	p := planOf(t, 1, "work")
	begun := filepath.Join(dir, "begun")
	if err := Run(t.Context(), begun, p, options()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, begun} {
		if err := os.Chmod(path, 0o555); err != nil { // #nosec G302
			t.Fatal(err)
		}
		defer func() { _ = os.Chmod(path, 0o755) }() // #nosec G302 -- so that it can be removed
	}
	asNobody(t, func() {
		for path, want := range map[string]string{
			filepath.Join(dir, "new"): "the folder " + filepath.Join(dir, "new") + " cannot be made: permission denied",
			begun:                     "the sweep " + begun + " cannot be locked: permission denied",
		} {
			if err := Run(t.Context(), path, p, options()); err == nil || err.Error() != want {
				t.Errorf("it said %v, want %s", err, want)
			}
		}
		// Reading the status needs no write permission.
		if h, err := HeldBy(begun); err != nil || h != nil {
			t.Errorf("it is held by %v, %v", h, err)
		}
		if events, err := journal.Read(filepath.Join(begun, journalName)); err != nil || len(events) != 2 {
			t.Errorf("it has the events %v, %v", events, err)
		}
	})
}

// asNobody calls do on this thread as a user who does not own the files.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Getuid() == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := unix.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Setfsuid(0) }()
	}
	do()
}
