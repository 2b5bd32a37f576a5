package submit

import (
	"os/exec"
	"strings"
	"testing"
)

// Slurm's messages are separated from the messages of tasks. Messages that explain a failure are separated from usual
// messages.
func TestWords(t *testing.T) {
	for name, c := range map[string]struct {
		lines       []string
		job, reason string
	}{
		"nothing": {nil, "", "srun has ended without output"},
		"a task":  {[]string{"psbench: srun: error: x", "measured pass"}, "", "srun has ended without output"},
		"refused": {
			[]string{"srun: error: invalid partition specified: nope",
				"srun: error: Unable to allocate resources: Invalid partition name specified"},
			"", "invalid partition specified: nope; Unable to allocate resources: Invalid partition name specified",
		},
		"no program": {
			[]string{"srun: job 2 queued and waiting for resources", "srun: job 2 has been allocated resources",
				"srun: error: node1: task 0: Exited with exit code 2",
				"slurmstepd-node1: error: execve(): /x: No such file or directory"},
			"2", "execve(): /x: No such file or directory",
		},
		"cancelled": {
			[]string{"srun: job 31 queued and waiting for resources",
				"srun: Job step aborted: Waiting up to 7 seconds for job step to finish.",
				"slurmstepd-node1: error: *** STEP 31.0 ON node1 CANCELLED AT 2026-11-24T13:08:13 ***"},
			"31", "STEP 31.0 ON node1 CANCELLED AT 2026-11-24T13:08:13",
		},
		"an option": {
			[]string{"/usr/bin/srun: unrecognized option '--foo'", `Try "srun --help" for more information`},
			"", "unrecognized option '--foo'",
		},
		"no configuration": {[]string{"srun: fatal: Could not establish a configuration source"}, "",
			"Could not establish a configuration source"},
	} {
		t.Run(name, func(t *testing.T) {
			var w words
			for _, line := range c.lines {
				if text, slurm := complaint(line); slurm {
					w.take(text)
				}
			}
			if w.job != c.job || w.reason() != c.reason {
				t.Errorf("%s: job %q, reason %q, want %q, %q", name, w.job, w.reason(), c.job, c.reason)
			}
		})
	}
}

// The script of an array runs the command with its words unchanged.
func TestScript(t *testing.T) {
	a := Array{Command: []string{"printf", "<%s>", "it's", "a b", "$x", "", "\"\n"}}
	cmd := exec.Command("sh")
	cmd.Stdin = strings.NewReader(a.script())
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "<it's><a b><$x><><\"\n>" {
		t.Errorf("%v: %s", err, out)
	}
}
