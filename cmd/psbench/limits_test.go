//go:build !race

// The race detector reserves more address space than these limits allow.

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hugeModel are flags of a model with segments of about 1.6 GiB per trainer.
var hugeModel = []string{"--quiet", "--set", "model.dense_layers_count=400"}

// underLimit runs psbench in a shell that first limits its own resources. The run must end with one sentence that
// contains all of want, and leave nothing behind.
func underLimit(t *testing.T, limit string, want ...string) {
	t.Helper()
	temp, err := os.MkdirTemp("", "ps")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	var stderr bytes.Buffer
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Under this name, the test executable acts as psbench.
	script := limit + ` && exec -a psbench "$0" "$@"`
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{"-c", script, exe}, hugeModel...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.Stderr = &stderr
	err = cmd.Run()
	text := strings.TrimSpace(stderr.String())
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
		t.Errorf("psbench ended with %v", err)
	}
	if !strings.HasPrefix(text, "psbench: ") || strings.Contains(text, "\n") {
		t.Errorf("not one sentence:\n%s", text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAddressSpaceLimit(t *testing.T) {
	underLimit(t, "ulimit -v 2500000", "trainer", " cannot be mapped",
		"the address space limit (RLIMIT_AS) is 2.384 GiB")
}

// Without the check, the kernel would kill a process that exceeds the cgroup's memory limit.
func TestMemoryCgroup(t *testing.T) {
	join, limit := cgroupWith(t, "1073741824",
		map[string]string{"/sys/fs/cgroup": "memory.max", "/sys/fs/cgroup/memory": "memory.limit_in_bytes"})
	underLimit(t, join, "trainer", " does not fit: ", " are left ("+limit+" of cgroup /psbench-run-test)")
}

// Without the check, a process that cannot start a thread would crash with pages of stack traces.
func TestProcessCgroup(t *testing.T) {
	join, _ := cgroupWith(t, "40", map[string]string{"/sys/fs/cgroup": "pids.max", "/sys/fs/cgroup/pids": "pids.max"})
	underLimit(t, join, "a run of 4 plugin processes needs about 52 threads, but ", "/psbench-run-test/pids.max is 40)")
}

func TestDescriptorLimit(t *testing.T) {
	underLimit(t, "ulimit -n 30",
		"a run of 4 plugin processes needs about 44 descriptors, but the limit is 30 (ulimit -n)")
}

// cgroupWith creates a cgroup with a limit in a mounted hierarchy. The map hierarchies has the name of the limit's
// file for each mount point. The results are the command with which a shell joins the cgroup, and the name of the
// limit's file.
func cgroupWith(t *testing.T, value string, hierarchies map[string]string) (join, limit string) {
	t.Helper()
	for point, limit := range hierarchies {
		dir := filepath.Join(point, "psbench-run-test")
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		// A folder on another file system would not contain the files of a cgroup.
		file, err := os.OpenFile(filepath.Join(dir, limit), os.O_WRONLY, 0)
		if err == nil {
			_, err = file.WriteString(value)
			_ = file.Close()
		}
		if err != nil {
			_ = os.Remove(dir)
			continue
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
		return "echo $$ > " + dir + "/cgroup.procs", limit
	}
	t.Skip("such a cgroup cannot be made here")
	return "", ""
}
