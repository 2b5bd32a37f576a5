package shm

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/procfs"
)

func TestAddressSpaceLimit(t *testing.T) {
	commtest.NeedsKernel(t, "RLIMIT_AS")
	report := start(t, "address space").wait(t)
	requireError(t, fmt.Errorf("%s", report), `segment "trainer0" of 1 GiB cannot be mapped: cannot allocate memory`,
		"the address space limit (RLIMIT_AS) is ")
}

func helpAddressSpace(c *net.UnixConn) error {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		return err
	}
	limit := pages*uint64(os.Getpagesize()) + 512<<20
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	before, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	_, refusal := New("trainer0", 1<<30, false)
	after, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	if len(after) != len(before) {
		return fmt.Errorf("%d descriptors were open before and %d after", len(before), len(after))
	}
	_, err = fmt.Fprint(c, refusal)
	return err
}

func TestDescriptorLimit(t *testing.T) {
	h := start(t, "descriptors")
	must(t, SendFDs(h.conn, []byte("x"), 2, 2, 2, 2))
	made, received, _ := strings.Cut(h.wait(t), "\n")
	requireError(t, fmt.Errorf("%s", made),
		`segment "trainer0" cannot be made: too many open files: the limit of descriptors (RLIMIT_NOFILE) is 64`)
	requireError(t, fmt.Errorf("%s", received), "descriptors were lost after the first 2",
		"the limit of descriptors (RLIMIT_NOFILE) is 64")
}

func helpDescriptors(c *net.UnixConn) error {
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}); err != nil {
		return err
	}
	var spare [2]int // the last two descriptors that the process can open
	for fd, err := unix.Dup(0); err == nil; fd, err = unix.Dup(0) {
		spare[0], spare[1] = spare[1], fd
	}
	CloseFDs(spare[:])
	_, received := ReceiveFDs(c, make([]byte, 1), 4)
	for range spare {
		if _, err := unix.Dup(0); err != nil {
			return fmt.Errorf("a refused descriptor was not closed: %w", err)
		}
	}
	_, made := New("trainer0", 1, false)
	_, err := fmt.Fprintf(c, "%v\n%v", made, received)
	return err
}

// The limit applies to a cgroup above the cgroup of the process.
func TestMemoryCgroup(t *testing.T) {
	dir, limit := limitedCgroup(t, 256<<20)
	inner := filepath.Join(dir, "inner")
	must(t, os.Mkdir(inner, 0o755))
	h := start(t, "cgroup")
	t.Cleanup(func() { // runs before the helper's clean-up, but only an empty cgroup can be removed
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
		_ = os.Remove(inner)
	})
	must(t, os.WriteFile(filepath.Join(inner, "cgroup.procs"), fmt.Append(nil, h.cmd.Process.Pid), 0o600))
	_, err := h.conn.Write([]byte("x"))
	must(t, err)

	report := h.wait(t)
	requireError(t, fmt.Errorf("%s", report), "a segment of 400 MiB for trainer0 does not fit: ",
		" MiB are left ("+limit+")")
	for _, name := range []string{"memory.oom_control", "memory.events"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && !strings.Contains(string(text), "oom_kill 0") {
				t.Errorf("%s says %q", name, text)
			}
		})
	}
}

// limitedCgroup makes a memory cgroup with a limit, below the outermost visible
// cgroup of each hierarchy, or skips the test. limitedCgroup returns the
// cgroup's folder and psbench's name for the limit.
func limitedCgroup(t *testing.T, bytes int) (dir, limit string) {
	t.Helper()
	err := fmt.Errorf("no hierarchy is mounted")
	for _, chain := range procfs.Cgroups(procfs.Here(), "memory") {
		outermost := chain[len(chain)-1]
		name := fmt.Sprintf("psbench-test-%d", os.Getpid())
		dir := filepath.Join("/", outermost.Folder, name)
		if err = os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
			if err = os.WriteFile(filepath.Join(dir, file), fmt.Append(nil, bytes), 0o600); err == nil {
				t.Cleanup(func() { must(t, os.Remove(dir)) })
				return dir, file + " of cgroup " + filepath.Join(outermost.Name, name)
			}
		}
		_ = os.Remove(dir)
	}
	t.Skipf("a memory cgroup cannot be made here: %v", err)
	return "", ""
}

func helpCgroup(c *net.UnixConn) error {
	if _, err := c.Read(make([]byte, 1)); err != nil {
		return err
	}
	small, err := New("trainer0", 64<<20, true)
	if err != nil {
		return fmt.Errorf("64 MiB do not fit: %w", err)
	}
	_, refusal := New("trainer0", 400<<20, true)
	clear(small.Bytes())
	_, err = fmt.Fprint(c, refusal)
	return err
}
