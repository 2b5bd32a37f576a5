package launch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// remove deletes the lock file last. If remove is interrupted, the folder is therefore still recognised.
func TestLockGoesLast(t *testing.T) {
	f, err := makeFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(f.path, fmt.Sprintf("%c.sock", 'a'+i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(watch) }()
	if _, err := unix.InotifyAddWatch(watch, f.path, unix.IN_DELETE); err != nil {
		t.Fatal(err)
	}
	if err := f.remove(); err != nil {
		t.Fatal(err)
	}
	if gone := names(t, watch); len(gone) != 21 || gone[20] != lockName {
		t.Errorf("they went in this order: %q", gone)
	}
	if err := f.remove(); err != nil {
		t.Errorf("of a folder that is gone already: %v", err)
	}
}

// names returns the file names in the events of an inotify instance.
func names(t *testing.T, watch int) (list []string) {
	t.Helper()
	events := make([]byte, 1<<16)
	n, err := unix.Read(watch, events)
	if err != nil {
		t.Fatal(err)
	}
	for events = events[:n]; len(events) > 0; {
		size := binary.NativeEndian.Uint32(events[unix.SizeofInotifyEvent-4:])
		name := events[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+size]
		if len(name) > 0 { // the event for the end of the watch has no name
			list = append(list, string(bytes.TrimRight(name, "\x00")))
		}
		events = events[unix.SizeofInotifyEvent+size:]
	}
	return list
}
