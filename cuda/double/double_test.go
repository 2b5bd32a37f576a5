//go:build nvidia

package double

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var programs = []string{"instructions", "kernels", "faults", "driver", "streams", "ipc", "graphs"}

// library is the folder of the double, and built the folder of the test programs.
var library, built string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	library, _ = filepath.Abs("../../bin/double")
	dir, err := os.MkdirTemp("", "double")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	built = dir
	if out, err := exec.Command("make", "-s", "OUT="+library).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "make: %v\n%s", err, out)
		return 1
	}
	for _, name := range programs {
		gcc := exec.Command("gcc", "-std=gnu11", "-O1", "-frounding-math", "-ffp-contract=off", "-Wall", "-Wextra",
			"-Werror",
			"testdata/"+name+".c", "-o", filepath.Join(dir, name), "-L"+library, "-l:libcuda.so.1", "-lm", "-lpthread")
		if out, err := gcc.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "gcc: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// start runs a program with the kernels, further arguments and variables. Names of variables omit their prefix
// PSBENCH_DOUBLE_.
func start(t *testing.T, env []string, program string, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	if program != "instructions" {
		arguments = append([]string{"testdata/kernels.ptx"}, arguments...)
	}
	c := exec.Command(filepath.Join(built, program), arguments...)
	c.Env = append(os.Environ(), "LD_LIBRARY_PATH="+library)
	for _, v := range env {
		c.Env = append(c.Env, "PSBENCH_DOUBLE_"+v)
	}
	var out, report bytes.Buffer
	c.Stdout, c.Stderr = &out, &report
	c.WaitDelay = time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() })
	defer timer.Stop()
	err = c.Wait()
	return out.String(), report.String(), err
}

func succeeds(t *testing.T, env []string, program string, arguments ...string) (stderr string) {
	t.Helper()
	stdout, stderr, err := start(t, env, program, arguments...)
	if err != nil || stdout != "ok\n" {
		t.Fatalf("%s %q with %q: %v\n%s%s", program, arguments, env, err, stdout, stderr)
	}
	return stderr
}

func TestInstructions(t *testing.T) {
	for _, seed := range []string{"SEED=1", "SEED=2"} {
		succeeds(t, []string{seed}, "instructions")
	}
}

func TestKernels(t *testing.T) {
	for seed := range 5 {
		for _, policy := range []string{"latest", "earliest", "random"} {
			if out := succeeds(t, []string{"STREAMS=" + policy, "SEED=" + strconv.Itoa(seed)}, "kernels"); out != "" {
				t.Fatalf("the double reports\n%s", out)
			}
		}
	}
	succeeds(t, []string{"RACES=0"}, "kernels")
}

func TestStreams(t *testing.T) {
	for _, policy := range []string{"latest", "earliest", "random"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			if out := succeeds(t, []string{"STREAMS=" + policy}, "streams"); out != "" {
				t.Fatalf("the double reports\n%s", out)
			}
		})
	}
}

func TestGraphs(t *testing.T) {
	for _, policy := range []string{"latest", "earliest", "random"} {
		succeeds(t, []string{"STREAMS=" + policy}, "graphs")
	}
}

func TestFaults(t *testing.T) {
	const end = "700 sticks"
	for _, c := range []struct{ name, stdout, stderr string }{
		{"right", "0 sticks", ``},
		{"read after the end", end,
			`kernel reads_at, block \(0,0,0\), thread \(100,0,0\), ptx line \d+: ld.global.f32 .*reads 4 bytes at .*: 0 bytes after the end of allocation \d+ of 400 bytes`},
		{"read before the beginning", end, `thread \(0,0,0\)`},
		{"read far away", end, `no address of the device`},
		{"read of null", end, `reads 4 bytes at 0: no address of the device`},
		{"write after the end", end, `thread \(36,0,0\).*st.global`},
		{"read of the host", end, `no address of the device`},
		{"use after free", end, `byte 0 of allocation \d+ of 400 bytes at .*, which has been freed`},
		{"misaligned", "716 sticks", `is no multiple of the 4 bytes of the access`},
		{"shared memory", end, `thread \(31,0,0\).*reads 4 bytes at 0x80 of shared memory, which has 128`},
		{"no barrier", "719 sticks", `conflicting accesses: .*shared memory`},
		{"no warp barrier", "719 sticks", `conflicting accesses: .*shared memory`},
		{"read then written", "719 sticks", `conflicting accesses: .*shared memory`},
		{"blocks in conflict", "719 sticks", `conflicting accesses: it writes .* which another block wrote`},
		{"blocks read and write", "719 sticks", `conflicting accesses: .* which another block (read|wrote)`},
		{"no atomic", "719 sticks", `conflicting accesses: `},
		{"divergent barrier", "719 sticks",
			`not all threads of the warp come to this barrier together \(0xffff of 0xffffffff\): divergence`},
		{"two barriers", "719 sticks",
			`waits at this barrier, but the warp of thread \d+ waits at that of ptx line \d+: divergence`},
		{"divergent shuffle", "719 sticks", `names lanes that do not come here with it .*: divergence`},
		{"endless", "702 sticks", `more than 1000000 instructions of warps`},
		{"trap", "719 sticks", `it trapped`},
		{"freed under a kernel", "0 sticks", ``},
		{"registered twice", "0", `is unregistered, but is not registered`},
		{"copy to memory registered in part", "1",
			`a copy writes 4096 bytes at .*, host memory that is pinned in part`},
		{"copy of memory registered in part", "1", `a copy reads 4096 bytes at .*, host memory that is pinned in part`},
		{"double free", "1", `is freed: .*which has been freed`},
		{"free within", "1", `is freed: byte 4 of allocation`},
		{"copy beyond", "1",
			`a copy reads 404 bytes at .*, which goes beyond the end: byte 0 of allocation \d+ of 400 bytes`},
		{"fill beyond", "1", `a fill writes 400 bytes at .*, which goes beyond the end: byte 4 of`},
		{"old entry point", "801", `cuMemAlloc: misuse: this is the entry point of an old version of CUDA`},
		{"fresh", "0", ``},
		{"unknown instruction",
			"218 ptx line 8: tex.2d.v4.f32.s32 {%r1, %r2, %r3, %r0}, [t, {%r1, %r2}]: this instruction is not known",
			`ptx line 8`},
		{"unknown modifier", "218 ptx line 8: add.rz.f32 %r1, %r2, %r3: this instruction is not known", `ptx line 8`},
		{"unknown register", "218 ptx line 8: add.s32 %r1, %r2, %r9: a register that is not declared", `ptx line 8`},
		{"wrong width", "218 ptx line 8: add.s32 %r1, %r2, %x1: a register of another width than the instruction's",
			`ptx line 8`},
		{"unknown label", "218 ptx line 8: there is no label nowhere", `ptx line 8`},
		{"unknown function", "218 ptx line 8: nothing is called, but is no function of this unit", `ptx line 8`},
		{"unknown directive", "218 ptx line 8: .tex is not known in a function", `ptx line 8`},
		{"too many threads", "1", ``},
		{"too much shared memory", "1", ``},
		{"unknown function name", "500", ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, err := start(t, []string{"STEPS=1000000"}, "faults", c.name)
			if err != nil || strings.TrimSpace(stdout) != c.stdout {
				t.Fatalf("%v, stdout %q, want %q; stderr\n%s", err, stdout, c.stdout, stderr)
			}
			reports, _, _ := strings.Cut(stderr, "at the end of the process")
			if c.stderr == "" && strings.Contains(reports, "misuse") ||
				!regexp.MustCompile(c.stderr).MatchString(reports) {
				t.Fatalf("stderr is\n%s, want %s", stderr, c.stderr)
			}
		})
	}
}

func TestConflictsAreNotLookedForWhereSwitchedOff(t *testing.T) {
	if stdout, _, _ := start(t, []string{"RACES=0"}, "faults", "no barrier"); stdout != "0 sticks\n" {
		t.Errorf("%q, want no error", stdout)
	}
}

// By default, the driver waits for pending work before it frees memory. In strict mode, it does not wait.
func TestStrict(t *testing.T) {
	for _, c := range []struct{ name, stderr string }{
		{"freed under a kernel", "has been freed"},
		{"freed under a copy", "a copy writes 4096 bytes at .*has been freed"},
		{"unregistered under a copy", "host memory that was pinned when the copy was asked for and is no longer"},
	} {
		if stdout, stderr, _ := start(t, []string{"STREAMS=latest"}, "faults", c.name); stdout != "0 sticks\n" {
			t.Errorf("%s: %q\n%s", c.name, stdout, stderr)
		}
		stdout, stderr, _ := start(t, []string{"STRICT=1", "STREAMS=latest"}, "faults", c.name)
		if stdout != "700 sticks\n" || !regexp.MustCompile(c.stderr).MatchString(stderr) {
			t.Errorf("%s, strict: %q, want %q\n%s", c.name, stdout, c.stderr, stderr)
		}
	}
}

func TestTheHostCannotTouchDeviceMemory(t *testing.T) {
	_, _, err := start(t, nil, "faults", "touched by the host")
	var exit *exec.ExitError
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		exit = e
	}
	if exit == nil || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGSEGV {
		t.Fatalf("the process ends with %v, want a segmentation fault", err)
	}
}

func TestDriver(t *testing.T) {
	shared := func(t *testing.T) string { return "SHARED=" + filepath.Join(t.TempDir(), "devices") }
	for _, c := range []struct {
		name, program string
		env           []string
		want          string
	}{
		{"as it is", "init", nil, "0 0 11080"},
		{"no device", "init", []string{"DEVICES=0"}, "100 0 11080"},
		{"mismatch", "init", []string{"FAIL=cuInit:1:803", "VERSION=10020"}, "803 0 10020"},
		{"too old for the kernels", "load", []string{"VERSION=8000"}, "222"},
		{"too old a device", "load", []string{"CAPABILITY=6.1"}, "209"},
		{"old enough", "load", []string{"VERSION=9000", "CAPABILITY=7.0"}, "0"},
		{"any process", "context", nil, "0 0"},
		{"busy", "context", []string{"EXCLUSIVE=busy"}, "3 46"},
		{"one process", "exclusive", []string{"EXCLUSIVE=1"}, "3 46"},
		{"two processes", "exclusive", nil, "0 0"},
		{"out of memory", "allocations", []string{"MEMORY=3e6"}, "0 0 2 2"},
		{"third allocation fails", "allocations", []string{"FAIL=cuMemAlloc:3:2"}, "0 0 2 0"},
		{"all allocations fail", "allocations", []string{"FAIL=cuInit:9:1,cuMemAlloc_v2:*:2"}, "2 2 2 2"},
		{"lost", "launches", []string{"LOST=3"}, "0 0 999 999"},
		{"lost by an error in its memory", "launches", []string{"LOST=2:214"}, "0 214 214 214"},
		{"memory of a killed process", "memory", []string{"MEMORY=1000000000"}, "1000000000 3145728 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, err := start(t, append(c.env, shared(t)), "driver", c.program)
			if err != nil || strings.TrimSpace(stdout) != c.want {
				t.Fatalf("%v, stdout %q, want %q; stderr\n%s", err, stdout, c.want, stderr)
			}
		})
	}
}

// If CUDA_VISIBLE_DEVICES names no device, all devices are hidden.
func TestDevicesThatAreHidden(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "")
	if stdout, stderr, err := start(t, nil, "driver", "init"); err != nil || stdout != "100 0 11080\n" {
		t.Errorf("%v, stdout %q; stderr\n%s", err, stdout, stderr)
	}
}

func TestProcesses(t *testing.T) {
	for _, policy := range []string{"latest", "earliest", "random"} {
		for _, c := range []struct{ how, stderr string }{
			{"right", ``},
			{"freed", `is freed while process \d+ has it open`},
			{"killed", ``},
		} {
			stderr := succeeds(t, []string{"STREAMS=" + policy}, "ipc", c.how)
			if freed := strings.Contains(stderr, "has it open"); freed != (c.stderr != "") ||
				!regexp.MustCompile(c.stderr).MatchString(stderr) {
				t.Fatalf("%s, %s: stderr is\n%s", policy, c.how, stderr)
			}
			if !strings.Contains(stderr, "is freed, which another process shares") ||
				!strings.Contains(stderr, "opened in the process that exported it") {
				t.Fatalf("%s, %s: stderr lacks reports\n%s", policy, c.how, stderr)
			}
		}
	}
	succeeds(t, []string{"STREAMS=latest", "IDLE_MS=60000"}, "ipc", "killed early")
	// Without a wait between the processes, the numbers are wrong.
	stdout, _, err := start(t, []string{"STREAMS=latest"}, "ipc", "no wait")
	if err == nil {
		t.Fatalf("a missing wait is not seen: %s", stdout)
	}
}

// report reads the reports that processes wrote to a report directory.
func report(t *testing.T, dir string) (counts map[string]int64, lines []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %q", err, files)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	counts = map[string]int64{}
	for line := range strings.Lines(string(text)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64); err == nil {
			counts[name] = n
		} else {
			lines = append(lines, line)
		}
	}
	return counts, lines
}

func TestReports(t *testing.T) {
	for _, c := range []struct {
		name string
		want map[string]int64
		line string
	}{
		{"nothing left", map[string]int64{"allocations": 0, "bytes": 0, "modules": 0, "contexts": 0, "misuses": 0,
			"leaks": 0}, ""},
		{"held at the end", map[string]int64{"allocations": 2, "bytes": 4496, "modules": 1, "contexts": 1, "leaks": 1},
			"at the end of the process there are 2 allocations (4496 bytes)"},
		{"leak", map[string]int64{"allocations": 0, "contexts": 0, "leaks": 1},
			"destroyed with 2 allocations, 0 pieces of pinned memory, 1 streams, 1 events, 1 modules in it"},
		{"touched by the host", map[string]int64{"allocations": 2, "bytes": 4496, "streams": 0}, ""},
		{"double free", map[string]int64{"allocations": 1, "misuses": 1}, "misuse: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			_, stderr, _ := start(t, []string{"REPORT=" + dir}, "faults", c.name)
			counts, lines := report(t, dir)
			for name, want := range c.want {
				if got, ok := counts[name]; !ok || got != want {
					t.Errorf("%s is %d, want %d", name, got, want)
				}
			}
			if text := strings.Join(lines, ""); (c.line == "") != (text == "") || !strings.Contains(text, c.line) ||
				!strings.Contains(stderr, text) {
				t.Errorf("lines are %q, want %q; stderr\n%s", lines, c.line, stderr)
			}
			_, _, err := start(t, []string{"EXIT=77"}, "faults", c.name)
			if code := exitCode(err); code != 77 && c.line != "" || code != 0 && c.name == "nothing left" {
				t.Errorf("the process ends with %d", code)
			}
		})
	}
}

func exitCode(err error) int {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode()
	}
	return 0
}

func TestNonsense(t *testing.T) {
	for _, v := range []string{"STREAMS=sometimes", "SEED=x"} {
		if _, stderr, err := start(t, []string{v}, "driver", "init"); exitCode(err) != 2 ||
			!strings.Contains(stderr, v) {
			t.Errorf("%s: %v, %s", v, err, stderr)
		}
	}
}

// If clang is missing, the test assumes that the committed PTX matches its source.
func TestKernelsAreOfTheirSource(t *testing.T) {
	if _, err := exec.LookPath("clang-14"); err != nil {
		t.Skip("there is no clang-14")
	}
	made := filepath.Join(t.TempDir(), "kernels.ptx")
	if out, err := exec.Command("testdata/make-ptx", made).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/kernels.ptx")
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%v, testdata/make-ptx makes other PTX than testdata/kernels.ptx", err)
	}
}
