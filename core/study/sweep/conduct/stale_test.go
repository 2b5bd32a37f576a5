package conduct

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// staleFor is how long a host may see an old version of a file after another host has changed it.
const staleFor = 700 * time.Millisecond

// hosts returns n folders that all show dir, as n hosts see the same network file system. Each host caches names and
// attributes for a while, and a file lock works on one host only.
func hosts(t *testing.T, dir string, n int) []string {
	t.Helper()
	if device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		t.Skip("file systems of user space cannot be mounted here: ", err)
	} else {
		_ = device.Close()
	}
	var all []string
	for range n {
		root, err := fs.NewLoopbackRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		old := staleFor
		at := t.TempDir()
		server, err := fs.Mount(at, &node{root.(*fs.LoopbackNode)}, &fs.Options{
			EntryTimeout: &old, AttrTimeout: &old, NegativeTimeout: &old,
			MountOptions: fuse.MountOptions{DirectMount: true, FsName: "psbench-test", Name: "stale"},
		})
		if err != nil {
			t.Skip("file systems of user space cannot be mounted here: ", err)
		}
		t.Cleanup(func() {
			if err := server.Unmount(); err != nil {
				t.Error(err)
			}
		})
		all = append(all, at)
	}
	return all
}

// node is a file of the simulated file system. As on NFS, every file has a name.
type node struct{ *fs.LoopbackNode }

// WrapChild implements fs.NodeWrapChilder.
func (*node) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{ops.(*fs.LoopbackNode)}
}

// Tmpfile implements fs.NodeTmpfiler.
func (*node) Tmpfile(context.Context, uint32, uint32,
	*fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	return nil, nil, 0, syscall.EOPNOTSUPP
}

// The simulated file system works as intended: a host does not see another host's changes at once.
func TestStale(t *testing.T) {
	t.Parallel()
	at := hosts(t, t.TempDir(), 2)
	path := func(host int) string { return filepath.Join(at[host], "file") }
	if _, err := os.Stat(path(1)); !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path(0), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path(1)); !os.IsNotExist(err) {
		t.Errorf("the other host sees it at once: %v", err)
	}
	until(t, "the other host sees it", func() bool {
		_, err := os.Stat(path(1))
		return err == nil
	})
}

// Hosts can share a sweep even if they see each other's changes late and one host is killed. No result is lost or
// replaced. If a run ran twice, both results are kept.
func TestShareWhereAttributesAreStale(t *testing.T) {
	t.Parallel()
	p := planOf(t, 8, "work", "work")
	p.Again = true
	p.Identify()
	dir := t.TempDir()
	at := hosts(t, dir, 4)
	for i := range at {
		at[i] = filepath.Join(at[i], "sweep")
	}
	dead := sharer(t, at[3], p, 30)
	if out, err := dead.CombinedOutput(); !killed(t, out, err) {
		t.Fatalf("it was not killed: %s", out)
	}
	before := written(t, filepath.Join(dir, "sweep"))
	workTogether(t, p, at[:3]...)
	after := written(t, filepath.Join(dir, "sweep"))
	for run, when := range before {
		if after[run] != when {
			t.Errorf("%s was replaced", run)
		}
	}
	if len(after) != p.Runs() {
		t.Errorf("%d runs have a result, want %d", len(after), p.Runs())
	}
}
