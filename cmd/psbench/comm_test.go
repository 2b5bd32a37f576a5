package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/measure/micro"
)

func readComm(t *testing.T, path string) *micro.Result {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r micro.Result
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

func TestFlagsOfCommAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/comm.md")
	if err != nil {
		t.Fatal(err)
	}
	(&app{}).commCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(string(page), "`--"+f.Name) && f.Name != "set" && f.Name != "registry" &&
			f.Name != "no-user-registry" {
			t.Errorf("docs/comm.md does not describe --%s", f.Name)
		}
	})
}

// One bit is wrong in the answer to the trainer that pushed first. The row with this answer is void, but the other
// row counts.
func TestCommNoticesAFlippedBit(t *testing.T) {
	const mismatch = "element 17 of round 7 on trainer[01] is "
	file := filepath.Join(t.TempDir(), "comm.json")
	status, stdout, stderr := psbenchMain(t, "comm", "pushpull", "--quiet", "--registry", foreignPlugin(t, "flipping"),
		"--server", "flipping", "--expect", "mean",
		"--sizes", "4K,8K", "--rounds", "4", "--repeat", "2", "--no-limits", "--json", file)
	if status != exitFailure || !regexp.MustCompile("^psbench: 1 of 2 rows are void: "+mismatch).MatchString(stderr) {
		t.Errorf("exit status %d, %s", status, stderr)
	}
	for _, want := range []string{`4KiB \| +4 \| +VOID \|`, `\nVOID: 4KiB over shm, fresh, inplace: ` + mismatch} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if !regexp.MustCompile(want).MatchString(stdout) {
				t.Errorf("the tables do not say %q:\n%s", want, stdout)
			}
		})
	}
	r := readComm(t, file)
	if len(r.Rows) != 2 || !r.Complete {
		t.Fatalf("%d rows, complete %v", len(r.Rows), r.Complete)
	}
	if void, fine := r.Rows[0], r.Rows[1]; void.Verified != micro.NoRound ||
		!regexp.MustCompile("^"+mismatch).MatchString(void.Mismatch) || fine.Verified != micro.EveryRound ||
		fine.Mismatch != "" {
		t.Errorf("the rows say %v %q and %v %q", void.Verified, void.Mismatch, fine.Verified, fine.Mismatch)
	}
}

func TestCommExpectations(t *testing.T) {
	file := foreignPlugin(t, "forgetful") // answers with the sum
	for expect, want := range map[string]struct {
		status   int
		verified micro.Verified
	}{"sum": {0, micro.EveryRound}, "mean": {exitFailure, micro.NoRound}, "any": {0, micro.NoRound}} {
		t.Run(expect, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "comm.json")
			status, stdout, stderr := psbenchMain(t, "comm", "pushpull", "--quiet", "--registry", file, "--server",
				"forgetful",
				"--expect", expect, "--sizes", "4K", "--rounds", "2", "--no-limits", "--json", out)
			r := readComm(t, out)
			if status != want.status || r.Rows[0].Verified != want.verified {
				t.Errorf("%s: exit status %d, verified %v\n%s%s", expect, status, r.Rows[0].Verified, stdout, stderr)
			}
		})
	}
}

// commPhases are the operations during which the tests make processes fail.
var commPhases = []string{"pushpull of 64KiB, fresh, inplace", "allreduce of 64KiB, fresh, inplace"}

// startComm starts a measurement over two transports. The time per row is fixed, so a busy machine with slow rounds
// needs no more time.
func startComm(t *testing.T, args ...string) *faultRun {
	t.Helper()
	return startPsbench(t, append([]string{
		"comm", "--transport", "shm,tcp", "--sizes", "4K,64K", "--seconds", "0.3", "--repeat", "4", "--no-limits",
	}, args...)...)
}

func TestKilledProcessEndsComm(t *testing.T) {
	for i, victim := range []string{"trainer1.shm", "trainer0.tcp", "server2.shm", "server2.tcp"} {
		for j, phase := range commPhases {
			if leftOut(i, j, len(commPhases)) {
				continue
			}
			t.Run(victim+"/"+phase, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "comm.json")
				f := startComm(t, "--json", file)
				f.reach(phase)
				f.signal(victim, syscall.SIGKILL)
				f.ended(victim+" (process ", "was killed by signal 9 during "+phase)
				if !strings.Contains(f.stdout.String(), "\nINCOMPLETE: "+victim) ||
					!strings.Contains(f.stdout.String(), "| tcp  ") {
					t.Errorf("the tables are:\n%s", f.stdout.String())
				}
				if r := readComm(t, file); r.Complete || !strings.Contains(r.Error, victim) || len(r.Rows) < 2 ||
					r.Rows[1].P50US == 0 {
					t.Errorf("the file says complete %v, error %q, and has %d rows", r.Complete, r.Error, len(r.Rows))
				}
			})
		}
	}
	t.Run("before anything was measured", func(t *testing.T) {
		t.Parallel()
		f := startComm(t, "--sizes", "25M") // the first row takes longer than the signal
		f.reach("launch")
		f.signal("server2.tcp", syscall.SIGKILL)
		f.ended("server2.tcp (process ", "was killed by signal 9")
		if f.stdout.Len() > 0 {
			t.Errorf("there are tables:\n%s", f.stdout.String())
		}
	})
}

func TestInterruptEndsComm(t *testing.T) {
	f := startComm(t)
	f.reach(commPhases[0])
	f.interrupt()
	if !strings.Contains(f.stdout.String(), "\nINCOMPLETE: interrupted\n") {
		t.Errorf("the tables are not marked:\n%s", f.stdout.String())
	}
}

func TestKilledCommLeavesNothing(t *testing.T) {
	f := startComm(t)
	f.reach(commPhases[1])
	f.kill()
}

func TestStoppedProcessOfCommIsNamed(t *testing.T) {
	for i, phase := range commPhases {
		for j, transport := range []string{"shm", "tcp"} {
			if leftOut(i, j, 2) || raceDetector && i > 0 {
				continue
			}
			for _, victim := range []string{"trainer1", "server2"} {
				if victim == "server2" && phase != commPhases[0] {
					continue // no server takes part
				}
				t.Run(victim+"/"+transport+"/"+phase, func(t *testing.T) {
					t.Parallel()
					f := startComm(t, append(shortTimeout, "--transport", transport)...)
					f.reach(phase)
					f.signal(victim, syscall.SIGSTOP)
					f.endedNaming(victim)
				})
			}
		}
	}
}
