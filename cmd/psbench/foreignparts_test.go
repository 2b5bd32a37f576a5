//go:build !race

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/measure/micro"
)

// A server that forgets the division doubles every delta. The server is in a separate plugin, so the test also runs
// an external program. Cases that do not fit are skipped; cases that fail are not.
func TestVerifyOfForeignParts(t *testing.T) {
	file := foreignPlugin(t, "forgetful")
	for args, want := range map[string][]string{
		"--server forgetful": {
			"trainer1, weight_1: delta_sumsq", "skip  allreduce_dense_t2: it has no servers\n",
			"1 of 5 cases agree, 4 disagree, 8 skipped", // for one trainer, sum and mean are equal
			"psbench: not every reference case agrees: of 5 cases 4 disagree\n",
		},
		"--server echo": {
			"skip  rpc_average_dense_t2_s1: server echo does not wait for all of its\n      trainers, so they race, and no two runs are alike\n",
			"1 of 1 cases agree, 12 skipped\n",
		},
		"--trainer planless": {
			"ERROR ragged_last_batch_t1_s1           did not run: trainer0: trainer planless, Plan: nothing can be planned",
			"none of 13 cases completed, 9 did not run, 4 skipped\n",
			"psbench: not every reference case agrees: none completed, 9 of 13 failed\n",
		},
		"--model narrow": {
			"skip  rpc_average_dense_t2_s1: data inline: sample 0, position 1 ",
			"none of 13 cases completed, 13 skipped\n",
			"psbench: no reference case could run: none fits the parts and settings given\n",
		},
		"--model missing": {"psbench: --model: plugin forgetful has no model missing, though " + file + " says so\n"},
	} {
		t.Run(args, func(t *testing.T) {
			status, stdout, stderr := psbenchMain(t,
				append([]string{"verify", "--registry", file}, strings.Fields(args)...)...)
			for _, text := range want {
				if !strings.Contains(stdout+stderr, text) || (status == 0) != (stderr == "") ||
					strings.Contains(args, "echo") != (status == 0) {
					t.Errorf("%s: exit status %d, without %q\n%s%s", args, status, text, stdout, stderr)
				}
			}
		})
	}
}

// psbench comm asks the servers and hooks of another plugin for the right answers, in the measuring processes. For
// example, a median differs from a mean. If a part cannot tell, psbench compares nothing, and the result states that.
func TestCommAsksTheParts(t *testing.T) {
	registry := foreignPlugin(t, "forgetful")
	for flags, want := range map[string]struct {
		fails    string
		verified []micro.Verified // one for each row
		reason   string           // expected reason why rows were not verified
	}{
		"pushpull --server median --ntrainer 3":                 {verified: []micro.Verified{micro.EveryRound}},
		"pushpull --server median --ntrainer 4 --sparse --warm": {verified: []micro.Verified{micro.LeadIn}},
		"pushpull --server median --ntrainer 3 --expect mean":   {"1 of 1 rows are void: element 0 of round 0 on trainer0 is", []micro.Verified{micro.NoRound}, ""},
		"pushpull --server echo":                                {verified: []micro.Verified{micro.EveryRound}},
		"pushpull --server mute": {"", []micro.Verified{micro.NoRound},
			"server mute does not say what it answers: it is no sdk.Answerer"},
		"--ddp-hook halving --ntrainer 3 --nserver 0 --warm": {verified: []micro.Verified{micro.LeadIn}},
		"--ddp-hook halving --set hook.lies=true": {"rows are void: element 0 of round",
			[]micro.Verified{micro.NoRound}, ""},
		"--ddp-hook quiet": {"", []micro.Verified{micro.NoRound},
			"hook quiet does not say what it answers: it is no sdk.Answerer"},
		"--ddp-hook quiet --expect sum --transport tcp":    {verified: []micro.Verified{micro.EveryRound}},
		"--ddp-hook pushing --server median --ntrainer 3":  {verified: []micro.Verified{micro.EveryRound, micro.EveryRound}},
		"hook --ddp-hook pushing --server median --sparse": {verified: []micro.Verified{micro.EveryRound}},
		"hook --ddp-hook pushing --server mute": {"", []micro.Verified{micro.NoRound},
			"server mute does not say what it answers"},
		"hook --ddp-hook pushing --ntrainer 4 --nserver 2": {verified: []micro.Verified{micro.EveryRound}},
		"--ddp-hook rpc --server median": {"",
			[]micro.Verified{micro.NoRound, micro.NoRound}, "hook rpc"},
		"hook --ddp-hook sparse_rpc --sparse --ntrainer 4 --nserver 2": {verified: []micro.Verified{micro.EveryRound}},
		"hook allreduce --ddp-hook hybrid": {
			verified: []micro.Verified{micro.EveryRound, micro.EveryRound},
		},
		"--ddp-hook noop": {verified: []micro.Verified{micro.EveryRound}},
	} {
		t.Run(flags, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "comm.json")
			args := "comm " + flags + " --sizes 6K --no-limits --rounds 2 --repeat 2 --quiet --registry " + registry +
				" --json " + file
			status, stdout, stderr := psbenchMain(t, strings.Fields(args)...)
			if (status == 0) != (want.fails == "") || !strings.Contains(stderr, want.fails) {
				t.Errorf("%s: exit status %d\n%s%s", flags, status, stdout, stderr)
				return
			}
			r, rows := readComm(t, file), []micro.Verified{}
			for _, row := range r.Rows {
				rows = append(rows, row.Verified)
				if !strings.Contains(row.Unchecked, want.reason) || want.reason == "" && row.Unchecked != "" {
					t.Errorf("%s: the row is unchecked since %q, want %q", flags, row.Unchecked, want.reason)
				}
			}
			words := strings.Join(strings.Fields(stdout), " ") // removes line breaks
			told := strings.Contains(words, "not at all (") && strings.Contains(words, want.reason)
			if !slices.Equal(rows, want.verified) || want.reason != "" && !told {
				t.Errorf("%s: verified %v\n%s", flags, rows, stdout)
			}
			if strings.HasPrefix(flags, "--ddp-hook rpc ") {
				requirePlugins(t, r, "forgetful", registry)
			}
		})
	}
}

// requirePlugins requires that the result names the programs of a test: psbench and one other plugin.
func requirePlugins(t *testing.T, r *micro.Result, name, registry string) {
	t.Helper()
	if len(r.Plugins) != 2 {
		t.Fatalf("the plugins are %+v", r.Plugins)
	}
	for _, p := range r.Plugins {
		if len(p.SHA256) != 64 || p.Contract == "" ||
			p.Name == name && (p.Registry != registry || p.Checked || filepath.Base(p.Command[0]) != name) {
			t.Errorf("a plugin is %+v", p)
		}
	}
}
