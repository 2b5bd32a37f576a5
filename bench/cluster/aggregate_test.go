//go:build slurm

package cluster

import (
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// If a node's trainers push as one, the reference cases still pass and the losses match those on one host.
func aggregated(t *testing.T, s *slurm) {
	args := append([]string{"run", "--ntrainer", "4", "--nserver", "1", "--iterations", "20", "--quiet"}, small...)
	want, _ := losses(t, func(file string) (string, error) {
		out, err := exec.Command(binary, append(args, "--json", file)...).CombinedOutput()
		return string(out), err
	})
	for _, place := range []string{"spread", "apart"} {
		s.env = []string{"PSBENCH_AGGREGATE=host", "PSBENCH_PLACE=" + place}
		got, hosts := losses(t, func(file string) (string, error) { return s.srun(2, append(args, "--json", file)...) })
		if hosts != 2 || len(got) != len(want) || len(want) == 0 {
			t.Fatalf("place %s: it ran on %d nodes, and has %d losses, want %d", place, hosts, len(got), len(want))
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-6 {
				t.Errorf("place %s, loss %d is %v, want %v", place, i, got[i], want[i])
			}
		}
	}
	cases, err := filepath.Glob("../../core/measure/verify/reference/*rpc_average*.json")
	if err != nil || len(cases) != 3 {
		t.Fatalf("the cases are %v (%v)", cases, err)
	}
	for i := range cases {
		if cases[i], err = filepath.Abs(cases[i]); err != nil {
			t.Fatal(err)
		}
	}
	out, err := s.srun(2, append([]string{"verify"}, cases...)...)
	if err != nil || !strings.Contains(out, "3 of 3 cases agree") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = s.srun(2, "comm", "pushpull", "--server-place", "apart", "--sizes", "4K,3M", "--rounds", "20",
		"--repeat", "1", "--quiet")
	const links = "links: shm trainer0-trainer1; tcp trainer0-server2\n"
	if err != nil || !strings.Contains(out, links) || !strings.Contains(out, "1 server, aggregate host\n") ||
		!strings.Contains(out, "verified: fresh rows in every round\n") {
		t.Errorf("%v, want %s\n%s", err, links, out)
	}
	s.clean("node1", "node2")
}
