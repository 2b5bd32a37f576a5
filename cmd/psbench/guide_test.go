//go:build !race

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test follows the guide in docs/plugins.md literally. The reader has Go, a module cache, and a clone of psbench.
func TestPluginsGuide(t *testing.T) {
	g := newReader(t).follow(t, "docs/plugins.md", "From nothing to a measured hook",
		func(string) string { return "main.go" })
	if g != (guide{steps: 9, commands: g.commands, shown: g.shown}) || g.commands < 10 || g.shown < 8 {
		t.Errorf("the guide has %+v: the pattern of this test no longer fits it", g)
	}
}

// The test follows the guide in docs/python.md literally. The reader has python3 and the modules that plugins import.
func TestPythonGuide(t *testing.T) {
	path := withPython(t)
	r := newReader(t)
	r.onPath(path)
	g := r.follow(t, "docs/python.md", "From nothing to a measured hook in Python", func(text string) string {
		if strings.Contains(text, "import unittest\n") {
			return "test_topk.py"
		}
		return "topk.py"
	})
	if g != (guide{6, 6, 5}) {
		t.Errorf("the guide has %+v: the pattern of this test no longer fits it", g)
	}
}

// slowPart matches a warning about a slow part. Guides do not show this warning, because it depends on the machine.
var slowPart = regexp.MustCompile(`(?m)^ +warn +speed .*\n`)

// guide counts the steps of a guide, its blocks of commands, and its blocks of expected output.
type guide struct{ steps, commands, shown int }

// follow executes the guide below a headline of a page. It runs each command as written, in an initially empty
// folder, and writes each source to a file. If the page shows a command's output, the real output must match.
func (r *reader) follow(t *testing.T, page, headline string, fileOf func(source string) string) (g guide) {
	t.Helper()
	_, text, _ := strings.Cut(readPage(t, page), "\n## "+headline+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	printed := ""
	for _, found := range block.FindAllStringSubmatch(text, -1) {
		text := regexp.MustCompile("(?m)^"+found[1]).ReplaceAllString(found[3], "")
		switch language := found[2]; language {
		case "sh":
			g.commands++
			if strings.Contains(text, "plugin dev") { // runs until it is interrupted
				r.interrupt(t, text, "\nloss ")
			} else {
				printed = slowPart.ReplaceAllString(r.run(t, text), "")
			}
		case "go", "python":
			write(t, filepath.Join(r.folder, fileOf(text)), text)
		case "":
			g.shown++
			if !prints(text, printed) {
				t.Errorf("the guide shows\n%s\nbut it prints\n%s", text, printed)
			}
		default:
			t.Errorf("nobody knows what to do with a block of %q:\n%s", language, text)
		}
	}
	for i, step := range regexp.MustCompile(`(?m)^([0-9]+)\. `).FindAllStringSubmatch(text, -1) {
		if g.steps++; step[1] != fmt.Sprint(i+1) {
			t.Errorf("step %d of the guide is numbered %s", i+1, step[1])
		}
	}
	return g
}

// reader plays the person who follows the guide.
type reader struct {
	folder      string // current folder of the reader
	where       string // a file that receives the current folder after each block
	environment []string
}

// newReader copies this executable to the place where make puts psbench in a clone.
func newReader(t *testing.T) *reader {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(root(t), "bin"), 0o750); err != nil {
		t.Fatal(err)
	}
	bin, err := os.MkdirTemp(filepath.Join(root(t), "bin"), ".guide-") // tests that read all sources skip hidden folders
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(bin) })
	copyExecutable(t, filepath.Join(bin, "psbench"))
	environment := []string{
		"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		"GOPROXY=off", "GOFLAGS=-vet=all -ldflags=-s", "GOTOOLCHAIN=local", "CGO_ENABLED=0", // without symbols the linker takes half of the time
		"PSBENCH_WARMUP=5", // the default would be a whole pass
	}
	for _, cache := range []string{"GOMODCACHE", "GOCACHE"} {
		path, err := exec.Command("go", "env", cache).Output()
		if err != nil {
			t.Fatal(err)
		}
		environment = append(environment, cache+"="+strings.TrimSpace(string(path)))
	}
	return &reader{t.TempDir(), filepath.Join(t.TempDir(), "where"), environment}
}

// onPath puts the first folder of the given PATH in front of the reader's PATH.
func (r *reader) onPath(path string) {
	first := filepath.SplitList(path)[0] + string(filepath.ListSeparator)
	r.environment[0] = strings.Replace(r.environment[0], "PATH=", "PATH="+first, 1)
}

func copyExecutable(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err == nil {
		_, err = io.Copy(file, from)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// blockPatience is the time limit for a block of commands, which may build and measure.
const blockPatience = 2 * time.Minute

// run executes a block of commands in a shell, in the folder where the last block ended. It returns their output.
func (r *reader) run(t *testing.T, commands string) string {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), blockPatience,
		fmt.Errorf("it took more than %v", blockPatience))
	defer cancel()
	var stdout, stderr bytes.Buffer
	shell := exec.CommandContext(ctx, "sh", "-ec", commands+"\npwd > "+r.where)
	shell.Dir, shell.Env = r.folder, r.environment
	shell.Stdout, shell.Stderr = &stdout, &stderr
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	shell.WaitDelay = 10 * time.Second // for processes that left the group but still hold the output
	if err := shell.Run(); err != nil {
		t.Fatalf("%s%v\n%s%s", commands, errors.Join(err, context.Cause(ctx)), &stdout, &stderr)
	}
	where, err := os.ReadFile(r.where)
	if err != nil {
		t.Fatal(err)
	}
	r.folder = strings.TrimSpace(string(where))
	return stdout.String()
}

// interrupt executes commands in a shell until they print the awaited text. Then it ends them as Ctrl-C would.
func (r *reader) interrupt(t *testing.T, commands, awaited string) {
	t.Helper()
	var stderr bytes.Buffer
	shell := exec.Command("sh", "-ec", commands)
	shell.Dir, shell.Env, shell.Stderr = r.folder, r.environment, &stderr
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := shell.StdoutPipe()
	if err == nil {
		err = shell.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) })
	defer late.Stop()
	var printed bytes.Buffer
	for err == nil && !strings.Contains(printed.String(), awaited) {
		_, err = io.CopyN(&printed, stdout, 1)
	}
	_ = syscall.Kill(-shell.Process.Pid, syscall.SIGINT)
	_, _ = io.Copy(&printed, stdout)
	_ = shell.Wait()
	// The shell either returns the status of its last command or dies of the same signal.
	if state := shell.ProcessState.Sys().(syscall.WaitStatus); state.ExitStatus() != 130 &&
		state.Signal() != syscall.SIGINT {
		t.Errorf("%sends with %v\n%s%s", commands, shell.ProcessState, &printed, &stderr)
	}
	if !strings.Contains(printed.String(), awaited) {
		t.Errorf("%sdid not print %q:\n%s%s", commands, awaited, &printed, &stderr)
	}
}

var (
	number = regexp.MustCompile(`[0-9]+([.,][0-9]+)*`)
	spaces = regexp.MustCompile(`[ \t]+`)
	rule   = regexp.MustCompile(`--+`)
)

// prints reports whether a page shows the printed text. It ignores numbers and the width of columns. A line "..." on
// the page stands for any lines, and "..." at the end of a line for any rest of that line.
func prints(shown, printed string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(alike(shown)) {
		switch start, cut := strings.CutSuffix(line, " ...\n"); {
		case line == "...\n":
			pattern.WriteString(`(?:.*\n)*?`)
		case cut:
			pattern.WriteString(regexp.QuoteMeta(start) + ".*\n")
		default:
			pattern.WriteString(regexp.QuoteMeta(line))
		}
	}
	return regexp.MustCompile("^" + pattern.String() + "$").MatchString(alike(printed))
}

// alike removes everything from a text that varies between runs.
func alike(text string) string {
	text = rule.ReplaceAllString(number.ReplaceAllString(text, "0"), "--")
	return regexp.MustCompile(`(?m)^ | $`).ReplaceAllString(spaces.ReplaceAllString(text, " "), "")
}

func TestWhatAPageShows(t *testing.T) {
	const printed = "trainer ddp\n2 trainers,   12.5 s\n| a  |   b |\n+----+-----+\nlast 3\n"
	for shown, want := range map[string]bool{
		printed: true, "...\n": true, "trainer ddp\n...\n": true, "...\nlast 1\n": true,
		"trainer ddp\n1 trainers, 3 s\n| a | b |\n+--+--+\nlast 1,000.5\n": true,
		"trainer ...\n2 trainers, ...\n...\nlast 4\n":                      true,
		"trainer ddp\n": false, "...\nlast\n": false, "...\ntrainers\n...\n": false, "trainer rpc\n...\n": false,
		"...\nlast 3\ntrainer ddp\n...\n": false, "": false,
	} {
		t.Run(fmt.Sprintf("%.60s", shown), func(t *testing.T) {
			if got := prints(shown, printed); got != want {
				t.Errorf("%q shows it: %v", shown, got)
			}
		})
	}
}
