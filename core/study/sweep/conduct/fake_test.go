package conduct

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
)

// role makes the test executable act as psbench. "run" executes what a cell's configuration says; "sweep" runs a sweep.
const role = "PSBENCH_CONDUCT_TEST"

// swift removes the one-second delay at the exit of race builds.
const swift = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "run":
		os.Exit(fakeRun(os.Args[1:]))
	case "sweep":
		os.Exit(fakeSweep(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// fakeRun acts as a run of psbench. The configuration says what the run does.
func fakeRun(args []string) int {
	if len(args) != 8 || args[0] != "run" || args[1] != "--config" || args[3] != "--torch-seed" || args[5] != "--out" ||
		args[7] != "--quiet" {
		fmt.Fprintf(os.Stderr, "psbench: called with %q\n", args)
		return 2
	}
	config, err := jsonfile.ReadMap(args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	f, err := folder.Create(args[6])
	if err != nil {
		fmt.Fprintln(os.Stderr, "psbench:", err)
		return 1
	}
	switch does := config["does"]; does {
	case "fail":
		fmt.Fprintln(os.Stderr, "a part says something")
		fmt.Fprintln(os.Stderr, "psbench: the server has died")
		fmt.Fprintln(os.Stderr, "goodbye")
		return 1
	case "mark":
		_ = f.Fail("the mark says why")
		return 1
	case "crash":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		time.Sleep(time.Minute)
	case "wait": // until it is interrupted
		<-interrupts
		_ = f.Fail("interrupted")
		return 130
	case "hang":
		time.Sleep(time.Minute)
	case "fill": // fills the disk, unless the sweep folder has a file "room"
		if _, err := os.Stat(filepath.Join(filepath.Dir(args[2]), "room")); err != nil {
			err := os.WriteFile(filepath.Join(args[6], "filler"), make([]byte, 64<<20), 0o600)
			fmt.Fprintln(os.Stderr, "psbench:", err)
			return 1
		}
	case "beat":
		f := monitor.BeatPipe()
		if f == nil {
			fmt.Fprintln(os.Stderr, "psbench: nobody listens")
			return 1
		}
		beats, told := int64(0), make(chan struct{})
		stop := monitor.SendBeats(f, time.Millisecond, func() monitor.Beat {
			if beats++; beats == 4 {
				close(told)
			}
			return monitor.Beat{Phase: "measured pass", Iterations: beats}
		})
		<-told
		stop()
	case "work after":
	}
	seed, err := strconv.ParseFloat(args[4], 64)
	if err == nil {
		err = f.Write(&result.Result{Schema: result.Schema, Complete: true,
			Throughput: result.NewThroughput(int64(100*seed), 1), Command: os.Args})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "psbench:", err)
		return 1
	}
	if config["does"] == "work badly" {
		return 1 // fails although it wrote a result
	}
	return 0
}

// fakeSweep runs the plan of one folder as a sweep in another folder. It kills itself at the given point.
func fakeSweep(args []string) int {
	p, err := sweep.Read(filepath.Clean(args[1]))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	left, err := strconv.Atoi(args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	o := options()
	if os.Getenv("PSBENCH_CONDUCT_SHARE") != "" {
		o = sharing()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o.Step = func(string) {
		if left--; left == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	o.Tell = func(n News) { fmt.Println(n.ID(), n.State) }
	if err := Run(ctx, filepath.Clean(args[0]), p, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// conductor returns a process that runs a sweep and kills itself at the given point; with 0 it completes the sweep.
func conductor(t *testing.T, dir string, p *sweep.Plan, point int) *exec.Cmd {
	t.Helper()
	plan := t.TempDir()
	if err := p.Write(plan); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], dir, plan, strconv.Itoa(point))
	cmd.Env = append(os.Environ(), role+"=sweep", swift)
	return cmd
}

// killed reports whether a kill signal ended the process. It fails the test if the process failed in any other way.
func killed(t *testing.T, output []byte, err error) bool {
	t.Helper()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return false
}

func options() Options {
	return Options{Environ: append(os.Environ(), role+"=run", swift), Grace: 200 * time.Millisecond}
}

// planOf returns a plan with one cell for each string in does, which says what the cell's runs do. The first cell is
// the baseline.
func planOf(t *testing.T, repeats int, does ...string) *sweep.Plan {
	t.Helper()
	binary, err := executable.Resolve(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	sum, err := executable.SumOf(binary)
	if err != nil {
		t.Fatal(err)
	}
	p := &sweep.Plan{Binaries: []sweep.Binary{{Name: "psbench", Path: binary, SHA256: sum}}, Repeats: repeats, Seed: 7,
		Axes: []sweep.Axis{{Name: "cell"}}}
	for i, what := range does {
		value := strconv.Itoa(i) + " " + what
		p.Axes[0].Values = append(p.Axes[0].Values, value)
		p.Cells = append(p.Cells, sweep.Cell{
			Name: "cell=" + value, Values: []string{value}, Binary: binary,
			Config: map[string]any{"does": what, "cell": json.Number(strconv.Itoa(i)),
				sweep.SeedKey: json.Number("40")},
		})
	}
	p.Identify()
	return p
}

// states reads a sweep's folder and returns the state of each run, one line per run in the plan's order.
func states(t *testing.T, dir string) string {
	t.Helper()
	p, err := sweep.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	events, err := journal.Read(filepath.Join(dir, journalName))
	if err != nil {
		t.Fatal(err)
	}
	account, err := accountOf(dir, p, events)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range account {
		if e.Adopted || e.Lost {
			t.Errorf("the journals and the folder of %s are at odds", e.ID())
		}
		lines = append(lines,
			strings.TrimSpace(fmt.Sprintf("%s/%d %s %s", p.Cells[e.Cell].Name, e.Round, e.State, e.Reason)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// written returns the modification time and the inode of each result in a sweep, by run folder.
func written(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "runs/*/*/result.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range files {
		run := filepath.Dir(name)
		if wrong, err := incomplete(run); err != nil || wrong != "" || strings.Contains(run, ".failed-") {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		out[run] = fmt.Sprint(info.ModTime(), info.Sys().(*syscall.Stat_t).Ino)
	}
	return out
}
