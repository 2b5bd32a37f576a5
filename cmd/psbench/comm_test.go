package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/micro"
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
		if !strings.Contains(string(page), "`--"+f.Name) && f.Name != "set" && f.Name != "registry" && f.Name != "no-user-registry" {
			t.Errorf("docs/comm.md does not describe --%s", f.Name)
		}
	})
}

// One bit of the answer to who pushed first is wrong; the row counts for nothing then, and
// the other one still does.
func TestCommNoticesAFlippedBit(t *testing.T) {
	const mismatch = "element 17 of round 7 on trainer[01] is "
	file := filepath.Join(t.TempDir(), "comm.json")
	status, stdout, stderr := psbenchMain(t, "comm", "pushpull", "--quiet", "--registry", foreignPlugin(t, "flipping"), "--server", "flipping", "--expect", "mean",
		"--sizes", "4K,8K", "--rounds", "4", "--repeat", "2", "--no-limits", "--json", file)
	if status != exitFailure || !regexp.MustCompile("^psbench: 1 of 2 rows are void: "+mismatch).MatchString(stderr) {
		t.Errorf("exit status %d, %s", status, stderr)
	}
	for _, want := range []string{`4KiB \| +4 \| +VOID \|`, `\nVOID: 4KiB over shm, fresh, inplace: ` + mismatch} {
		if !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("the tables do not say %q:\n%s", want, stdout)
		}
	}
	r := readComm(t, file)
	if len(r.Rows) != 2 || !r.Complete {
		t.Fatalf("%d rows, complete %v", len(r.Rows), r.Complete)
	}
	if void, fine := r.Rows[0], r.Rows[1]; void.Verified != micro.NoRound || !regexp.MustCompile("^"+mismatch).MatchString(void.Mismatch) || fine.Verified != micro.EveryRound || fine.Mismatch != "" {
		t.Errorf("the rows say %v %q and %v %q", void.Verified, void.Mismatch, fine.Verified, fine.Mismatch)
	}
}

func TestCommExpectations(t *testing.T) {
	file := foreignPlugin(t, "forgetful") // answers with the sum
	for expect, want := range map[string]struct {
		status   int
		verified micro.Verified
	}{"sum": {0, micro.EveryRound}, "mean": {exitFailure, micro.NoRound}, "any": {0, micro.NoRound}} {
		out := filepath.Join(t.TempDir(), "comm.json")
		status, stdout, stderr := psbenchMain(t, "comm", "pushpull", "--quiet", "--registry", file, "--server", "forgetful",
			"--expect", expect, "--sizes", "4K", "--rounds", "2", "--no-limits", "--json", out)
		r := readComm(t, out)
		if status != want.status || r.Rows[0].Verified != want.verified {
			t.Errorf("%s: exit status %d, verified %v\n%s%s", expect, status, r.Rows[0].Verified, stdout, stderr)
		}
	}
}

// The operations in which processes are made to fail, in the middle of them.
var commPhases = []string{"pushpull of 64KiB, fresh, inplace", "allreduce of 64KiB, fresh, inplace"}

// startComm starts a measurement of two transports. A row lasts so long however slow
// its rounds are, as they are beside others that compute.
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
				if !strings.Contains(f.stdout.String(), "\nINCOMPLETE: "+victim) || !strings.Contains(f.stdout.String(), "| tcp  ") {
					t.Errorf("the tables are:\n%s", f.stdout.String())
				}
				if r := readComm(t, file); r.Complete || !strings.Contains(r.Error, victim) || len(r.Rows) < 2 || r.Rows[1].P50US == 0 {
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
			if leftOut(i, j, 2) {
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

// Servers and hooks of another plugin are asked what they must answer, in the processes that
// measure: a median is no mean. What nobody says is not compared, and the result tells that.
func TestCommAsksTheParts(t *testing.T) {
	registry := foreignPlugin(t, "forgetful")
	for flags, want := range map[string]struct {
		fails    string
		verified []micro.Verified // by row
		reason   string           // why rows were not
	}{
		"pushpull --server median --ntrainer 3":                        {verified: []micro.Verified{micro.EveryRound}},
		"pushpull --server median --ntrainer 4 --sparse --warm":        {verified: []micro.Verified{micro.LeadIn}},
		"pushpull --server median --ntrainer 3 --expect mean":          {"1 of 1 rows are void: element 0 of round 0 on trainer0 is", []micro.Verified{micro.NoRound}, ""},
		"pushpull --server echo":                                       {verified: []micro.Verified{micro.EveryRound}},
		"pushpull --server mute":                                       {"", []micro.Verified{micro.NoRound}, "server mute does not say what it answers: it is no sdk.Answerer"},
		"--ddp-hook halving --ntrainer 3 --nserver 0 --warm":           {verified: []micro.Verified{micro.LeadIn}},
		"--ddp-hook halving --set hook.lies=true":                      {"rows are void: element 0 of round", []micro.Verified{micro.NoRound}, ""},
		"--ddp-hook quiet":                                             {"", []micro.Verified{micro.NoRound}, "hook quiet does not say what it leaves: it is no sdk.Answerer"},
		"--ddp-hook quiet --expect sum --transport tcp":                {verified: []micro.Verified{micro.EveryRound}},
		"--ddp-hook pushing --server median --ntrainer 3":              {verified: []micro.Verified{micro.EveryRound, micro.EveryRound}},
		"hook --ddp-hook pushing --server median --sparse":             {verified: []micro.Verified{micro.EveryRound}},
		"hook --ddp-hook pushing --server mute":                        {"", []micro.Verified{micro.NoRound}, "server mute does not say what it answers"},
		"hook --ddp-hook pushing --ntrainer 4 --nserver 2":             {verified: []micro.Verified{micro.EveryRound}},
		"--ddp-hook rpc --server median":                               {"", []micro.Verified{micro.NoRound, micro.NoRound}, "hook rpc"},
		"hook --ddp-hook sparse_rpc --sparse --ntrainer 4 --nserver 2": {verified: []micro.Verified{micro.EveryRound}},
		"hook allreduce --ddp-hook hybrid":                             {verified: []micro.Verified{micro.EveryRound, micro.EveryRound}},
		"--ddp-hook noop":                                              {verified: []micro.Verified{micro.EveryRound}},
	} {
		file := filepath.Join(t.TempDir(), "comm.json")
		args := "comm " + flags + " --sizes 6K --no-limits --rounds 2 --repeat 2 --quiet --registry " + registry + " --json " + file
		status, stdout, stderr := psbenchMain(t, strings.Fields(args)...)
		if (status == 0) != (want.fails == "") || !strings.Contains(stderr, want.fails) {
			t.Errorf("%s: exit status %d\n%s%s", flags, status, stdout, stderr)
			continue
		}
		r, rows := readComm(t, file), []micro.Verified{}
		for _, row := range r.Rows {
			rows = append(rows, row.Verified)
			if !strings.Contains(row.Unchecked, want.reason) || want.reason == "" && row.Unchecked != "" {
				t.Errorf("%s: the row is unchecked since %q, want %q", flags, row.Unchecked, want.reason)
			}
		}
		words := strings.Join(strings.Fields(stdout), " ") // whose lines are cut
		told := strings.Contains(words, "not at all (") && strings.Contains(words, want.reason)
		if !slices.Equal(rows, want.verified) || want.reason != "" && !told {
			t.Errorf("%s: verified %v\n%s", flags, rows, stdout)
		}
		if strings.HasPrefix(flags, "--ddp-hook rpc ") {
			requirePlugins(t, r, "forgetful", registry)
		}
	}
}

// requirePlugins requires that the result tells which programs of a test ran: psbench's and another.
func requirePlugins(t *testing.T, r *micro.Result, name, registry string) {
	t.Helper()
	if len(r.Plugins) != 2 {
		t.Fatalf("the plugins are %+v", r.Plugins)
	}
	for _, p := range r.Plugins {
		if len(p.SHA256) != 64 || p.Contract == "" || p.Name == name && (p.Registry != registry || p.Checked || filepath.Base(p.Command[0]) != name) {
			t.Errorf("a plugin is %+v", p)
		}
	}
}
