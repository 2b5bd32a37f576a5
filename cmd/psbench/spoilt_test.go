//go:build !race

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/measure/micro"
)

// psbench plugin check detects a part that declares the mean but returns something else, in Go and in Python. If
// nobody declares the right answer, the check says so.
func TestPluginCheckComparesValues(t *testing.T) {
	goPlugin := filepath.Join(t.TempDir(), "plugin.sh")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goPlugin, []byte("#!/bin/sh\nexec "+self+" "+checkPluginArgument+"\n"), 0o700); err != nil { // #nosec G306 -- it is run
		t.Fatal(err)
	}
	for _, c := range []struct{ language, part, args, want string }{
		{"go", "spoilt", "--set hook.fault=last", "FAIL  answers .* that is the mean of 3 gradients"},
		{"go", "spoilt", "--set hook.fault=row", "FAIL  answers .* row 7 is missing: that is the mean of 3 gradients"},
		{"go", "spoilt_server", "--set server.fault=divide", "FAIL  answers .* that is the mean of 3 gradients"},
		{"go", "silent", "--set hook.fault=last --expect mean", "FAIL  answers .* that is the mean of 3 gradients"},
		{"go", "silent", "--set hook.fault=last",
			"--    values +values were not checked: it does not declare what it answers, and --expect does not say it"},
		{"go", "asked", "", "ok    values +every element is what the part itself says that it answers"},
		{"go", "asked", "--set hook.fault=row",
			"FAIL  values +row [0-9]+ of round 0 on trainer[0-2] is missing, which is not what its Answer says"},
		{"go", "silent", "--expect avg", `hook silent: --expect is "avg", but must be mean, sum, own, or "as KEY"`},
		{"go", "counting", "--expect mean",
			"--expect says what a hook or a server of gradients answers, but no such part is checked"},
		{"python", "spoilt", "", "ok    values "},
		{"python", "spoilt", "--set hook.fault=huge", "FAIL  values .* element 1000002 is "},
		{"python", "spoilt", "--set hook.fault=nan", "FAIL  answers .* has NaN at element"},
		{"python", "asked", "--dense-only", "ok    values +every element is what the part itself says that it answers"},
		{"python", "asked", "--dense-only --set hook.fault=huge",
			"FAIL  values +element 1000002 of round [0-9]+ on trainer[0-2] is .* which is not what its Answer says"},
		{"python", "asked_server", "--set server.fault=row",
			"FAIL  values +row [0-9]+ of round [0-9]+ on trainer[0-2] is missing, which is not what its Answer says"},
		{"python", "spoilt_server", "--set server.fault=row",
			"FAIL  answers .* row 7 is missing: that is the mean of 3 gradients"},
	} {
		t.Run(strings.Join([]string{c.language, c.part, c.args}, " "), func(t *testing.T) {
			plugin := goPlugin
			if c.language == "python" {
				t.Setenv("PATH", withPython(t))
				plugin = filepath.Join("testdata", "spoilt", "spoilt.py")
			}
			status, stdout, stderr := psbenchMain(t,
				append([]string{"plugin", "check", plugin, c.part}, strings.Fields(c.args)...)...)
			if all := stdout + stderr; !regexp.MustCompile(c.want).MatchString(all) ||
				(status == 0) != (strings.HasPrefix(c.want, "ok") || strings.HasPrefix(c.want, "--  ")) {
				t.Errorf("status %d: %s", status, all)
			}
		})
	}
}

// The flag --check compares a run with the declarations of its hook and its server, including first and last
// elements. The command verify detects the same faults.
func TestRunsAreHeldToWhatPartsDeclare(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	registry :=
		fmt.Sprintf(`{"plugins": {"spoils": {"command": [%q, %q]}}, "ddp_hook_map": {"spoilt": {"plugin": "spoils"}, "silent": {"plugin": "spoils"}},
		"server_map": {"spoilt_server": {"plugin": "spoils"}}}`, self, checkPluginArgument)
	const run = "--quiet --check --warmup none --iterations 2 --batch-size 2 --set data.max_val=16 --set model.embedding_dim=64 --set model.dense_input_size=64 --set model.dense_output_size=64 "
	for args, want := range map[string]string{
		run + "--nserver 0 --ddp-hook spoilt":                                                                                           "",
		run + "--nserver 0 --ddp-hook spoilt --set hook.fault=last":                                                                     "checked: element [0-9]+ of bucket 0 on trainer0 is wrong in iteration 0: the hook, which declares the mean, left ",
		run + "--nserver 0 --ddp-hook spoilt --set hook.fault=divide":                                                                   "the hook, which declares the mean, left ",
		run + "--server spoilt_server --set server.fault=divide":                                                                        "wrong in iteration 0: push-pull over link server left ",
		"verify --ddp-hook spoilt --set hook.fault=last ../../core/measure/verify/reference/every_element_allreduce_t2.json":            "FAIL  every_element_allreduce_t2 ",
		"verify --server spoilt_server --set server.fault=last ../../core/measure/verify/reference/every_element_rpc_sparse_t3_s1.json": "FAIL  every_element_rpc_sparse_t3_s1 ",
	} {
		t.Run(args, func(t *testing.T) {
			status, stdout, stderr := psbenchMain(t,
				append(strings.Fields(args), "--registry", inFile(t, []byte(registry)))...)
			if all := stdout + stderr; !regexp.MustCompile(want).MatchString(all) || (status == 0) != (want == "") ||
				want == "" && strings.Contains(all, "unchecked") {
				t.Errorf("status %d: %s", status, all)
			}
		})
	}
}

// psbench comm asks Python parts for their answers if they declare that they can state them. A hook also states what
// its server answers.
func TestCommAsksPartsInPython(t *testing.T) {
	t.Setenv("PATH", withPython(t))
	file, err := filepath.Abs(filepath.Join("testdata", "spoilt", "spoilt.py"))
	if err != nil {
		t.Fatal(err)
	}
	registry := inFile(t,
		[]byte(fmt.Sprintf(`{"plugins": {"py": {"command": [%q]}}, "ddp_hook_map": {"pushing": {"plugin": "py"}}, "server_map": {"asked_server": {"plugin": "py"}}}`,
			file)))
	for args, fails := range map[string]string{
		"hook pushpull --ntrainer 3":                             "",
		"hook --sparse --ntrainer 4 --nserver 2 --transport tcp": "",
		"hook --set server.fault=last":                           "rows are void: element 1535 of round 0 on trainer0 is",
		"pushpull --set server.fault=last":                       "rows are void: element 1535 of round 0 on trainer0 is",
	} {
		t.Run(args, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "comm.json")
			args :=
				"comm --ddp-hook pushing --server asked_server --sizes 6K --no-limits --rounds 2 --repeat 1 --quiet --registry " +
					registry + " --json " + file + " " + args
			status, stdout, stderr := psbenchMain(t, strings.Fields(args)...)
			if (status == 0) != (fails == "") || !strings.Contains(stderr, fails) {
				t.Fatalf("exit status %d: %s%s", status, stdout, stderr)
			}
			for _, row := range readComm(t, file).Rows {
				if row.Unchecked != "" || fails == "" && row.Verified != micro.EveryRound {
					t.Errorf("a row is verified: %s, %s", row.Verified, row.Unchecked)
				}
			}
		})
	}
}
