package launch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// family is a set of processes that a hostile plugin leaves behind. The members are sleeps in the plugin's group, in
// their own sessions, and without parent or environment. All members sleep for a unique time, by which the test finds
// them.
type family struct {
	t    *testing.T
	time string
}

func newFamily(t *testing.T) family {
	f := family{t, fmt.Sprint(100_000_000 + rand.IntN(100_000_000))}
	t.Cleanup(func() {
		for _, pid := range f.members() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return f
}

// settings returns settings that make an actor start the family. The family's output is discarded.
func (f family) settings(more string) string {
	spawn :=
		strings.ReplaceAll(`exec >/dev/null 2>&1; s=$(command -v sleep); $s T & setsid $s T & env -i setsid $(command -v sh) -c \"$s T &\"`,
			"T", f.time)
	return fmt.Sprintf(`{"spawn": "%s"%s}`, spawn, more)
}

func (f family) members() []int {
	var found []int
	for _, pid := range pids() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.HasSuffix(line, []byte("sleep\x00"+f.time+"\x00")) {
			found = append(found, pid)
		}
	}
	return found
}

// await waits until the family has this many members.
func (f family) await(want int) {
	f.t.Helper()
	for end := time.Now().Add(patience); len(f.members()) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("%d processes are there, not %d", len(f.members()), want)
		}
	}
}

func TestNothingThatPluginsStartStays(t *testing.T) {
	for name, c := range map[string]struct {
		settings string // further settings, after those that start the family
		end      func(*testing.T, *Launcher, *Process)
	}{
		"after a good end": {end: func(t *testing.T, l *Launcher, _ *Process) {
			if err := l.Close(true); err != nil {
				t.Error(err)
			}
		}},
		"after a panic": {settings: `, "panic": "no more"`, end: func(t *testing.T, l *Launcher, p *Process) {
			awaitExit(t, p)
			if err := l.Close(false); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l, f := launcher(t), newFamily(t)
			p := started(t, l, "trainer0")
			err := act(l, p, f.settings(c.settings))
			if died := c.settings != ""; died != (err != nil) {
				t.Fatalf("the plugin gave %v", err)
			}
			if err == nil {
				f.await(3)
			}
			c.end(t, l, p)
			if left := f.members(); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
		})
	}
}

func TestNothingThatPluginsStartOutlivesTheCore(t *testing.T) {
	f := newFamily(t)
	base := shortBase(t)
	core := startCore(t, base, withSettings+"="+f.settings(""))
	f.await(3)
	if err := core.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = core.Wait()
	f.await(0)
	requireEmptied(t, base, 0)
}

// Killing whole groups ends even a program that forks all the time.
func TestForkingPluginIsEnded(t *testing.T) {
	l, f := launcher(t), newFamily(t)
	p := started(t, l, "trainer0")
	again := fmt.Sprintf(`{"spawn": "setsid sh -c 'while :; do sleep %s & sleep 0.01; done' >/dev/null 2>&1 &"}`,
		f.time)
	if err := act(l, p, again); err != nil {
		t.Fatal(err)
	}
	for len(f.members()) == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := l.Close(true); err != nil {
		t.Error(err)
	}
	if left := f.members(); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

func TestDeathOfTheSupervisor(t *testing.T) {
	l, f := launcher(t), newFamily(t)
	p := started(t, l, "trainer0")
	if err := act(l, p, strings.Replace(f.settings(""), "env -i", "", 1)); err != nil {
		t.Fatal(err)
	}
	f.await(3)
	if err := l.supervisor.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitExit(t, p)
	if got := p.Death("warm-up").Error(); !strings.Contains(got, "ended during warm-up with its supervisor (process ") {
		t.Errorf("the death says %q", got)
	}
	if err := l.Close(false); err == nil || !strings.Contains(err.Error(), "ended before the run: signal: killed") {
		t.Errorf("closing gave %v", err)
	}
	f.await(0)
	requireGone(t, l.Directory())
}

// Neither a hang-up nor a signal from the terminal ends the supervisor, at any moment.
func TestSupervisorIgnoresSignals(t *testing.T) {
	for i := range 10 {
		base := shortBase(t)
		core := startCore(t, base)
		for range i {
			for _, pid := range supervisors(base) {
				for _, s := range shielded {
					_ = syscall.Kill(pid, s.(syscall.Signal))
				}
			}
			time.Sleep(time.Millisecond)
		}
		if err := core.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = core.Wait()
		requireEmptied(t, base, time.Duration(i)*time.Millisecond)
	}
}

// supervisors lists the supervisors whose temporary folder is base.
func supervisors(base string) []int {
	var found []int
	for _, pid := range pids() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if bytes.Contains(line, []byte(SupervisorArgument)) && bytes.Contains(env, []byte("TMPDIR="+base+"\x00")) {
			found = append(found, pid)
		}
	}
	return found
}

// If core and supervisor are killed together, the next supervisor removes what they left, and nothing else.
func TestDeadFolderIsCleared(t *testing.T) {
	base := shortBase(t)
	t.Setenv("TMPDIR", base)
	var kept []string
	for name, mode := range map[string]os.FileMode{
		"psbench-results":      0o700, // wrong name
		"psbench-AAAAAAAAAAAA": 0o755, // wrong mode
		"psbench-BBBBBBBBBBBB": 0o700, // no lock file
	} {
		path := filepath.Join(base, name)
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, path)
	}
	if err := os.WriteFile(filepath.Join(base, "psbench-AAAAAAAAAAAA", lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	alive := launcher(t) // its supervisor also cleans up, and could remove a folder that has no lock file yet
	f := newFamily(t)
	core := startCore(t, base, withSettings+"="+strings.Replace(f.settings(""), "env -i", "", 1))
	f.await(3)
	for _, pid := range supervisors(base) {
		if parent, _ := statOf(pid); parent.Parent == core.Process.Pid {
			_ = syscall.Kill(pid, syscall.SIGSTOP) // the supervisor must not notice the death of the core
			_ = core.Process.Kill()
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = core.Wait()
	launcher(t) // the next supervisor
	f.await(0)
	want := append(kept, alive.Directory())
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		found, _ := filepath.Glob(filepath.Join(base, "psbench-*"))
		if len(found) == len(want)+1 { // only the folder of the next supervisor is new
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v are there", found)
		}
	}
	for _, path := range want {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s is gone: %v", path, err)
		}
	}
}

// A user who starts the supervisor by hand, or sets a variable of psbench, loses no files.
func TestVariablesFromOutsideMeanNothing(t *testing.T) {
	mine := filepath.Join(t.TempDir(), "psbench-AAAAAAAAAAAA")
	if err := os.Mkdir(mine, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, variable := range []string{
		"PSBENCH_PLUGIN", "PSBENCH_PLUGIN_DIR", "PLUGIN_CLIENT_CERT", "PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT",
		"PLUGIN_MULTIPLEX_GRPC", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_UNIX_SOCKET_DIR", "PLUGIN_UNIX_SOCKET_GROUP",
	} {
		t.Setenv(variable, mine)
	}
	l := launcher(t)
	started(t, l, "trainer0")
	if err := l.Close(true); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}

// If a process ends before its handshake, the error has its exit status. The error is the same even if psbench notices
// the end of the process long after the end of its output.
func TestDeathsBeforeTheHandshake(t *testing.T) {
	l := launcher(t)
	const starts = 32
	errs := make(chan error, starts)
	dying := program(t, "kill -9 $$")
	for range starts {
		go func() {
			_, err := l.Start(t.Context(), Spec{Name: "trainer0", Plugin: dying})
			errs <- err
		}()
	}
	for range starts {
		if err := <-errs; err == nil || !strings.Contains(err.Error(), "was killed by signal 9 during its start") {
			t.Errorf("the start gave %v", err)
		}
	}
}

// Killing a process that is already dying does not count as killing it.
func TestKilledIsWhoWasAlive(t *testing.T) {
	for command, alive := range map[string]bool{"exec sleep 1000": true, "exit 3": false} {
		dying := exec.Command("sh", "-c", command)
		dying.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := dying.Start(); err != nil {
			t.Fatal(err)
		}
		pid := dying.Process.Pid
		for end := time.Now().Add(patience); !alive; time.Sleep(time.Millisecond) {
			if now, ok := statOf(pid); !ok || now.Exiting || time.Now().After(end) {
				break // the process has ended but is not yet reaped
			}
		}
		p := &supervised{pid: pid}
		(&supervisor{plugins: map[int]*supervised{pid: p}}).kill(p)
		if p.killed != alive {
			t.Errorf("%s: killed alive is %v", command, p.killed)
		}
		if err := dying.Wait(); err == nil || alive != (dying.ProcessState.ExitCode() == -1) {
			t.Errorf("%s ended with %v", command, err)
		}
	}
}

// A process name may contain any characters, even text that looks like the rest of the line in stat.
func TestStatOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a) R 1 (b")
	if err := os.Symlink("/bin/sleep", path); err != nil {
		t.Fatal(err)
	}
	sleeper := exec.Command(path, "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	}()
	s, ok := statOf(sleeper.Process.Pid)
	if !ok || s.Parent != os.Getpid() || s.Group != syscall.Getpgrp() || s.Exiting {
		t.Errorf("the process is %+v", s)
	}
	if _, ok := statOf(1 << 30); ok {
		t.Error("a process that is not there has a stat")
	}
}
