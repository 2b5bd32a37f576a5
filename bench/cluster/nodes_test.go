//go:build slurm

package cluster

import "testing"

// Tests that leave a cluster unchanged share one cluster. The last tests lose a node.
func TestOnTwoNodes(t *testing.T) {
	together(t, 2, []onNodes{
		{"refusals", refusals},
		{"other plugin", otherPlugin},
		{"aggregated", aggregated},
		{"comm", commBetweenNodes},
		{"shared sweep", sharedSweep},
		{"sweep over nodes", sweepOverNodes},
		{"submitted", submitted},
		{"submitted, interrupted", submittedIsInterrupted},
		{"submitted, first node lost", submittedLosesItsFirstNode},
	})
}

func TestOnFourNodes(t *testing.T) {
	together(t, 4, []onNodes{
		{"rollcall", rollcall},
		{"reference cases", referenceCases},
		{"same losses", sameLosses},
		{"submitted sweep", submittedSweep},
	}, "PROCTRACK=proctrack/linuxproc") // a job's cgroup is named by the job number, which another cluster uses too
}

// onNodes is a test on a cluster.
type onNodes struct {
	name string
	test func(*testing.T, *slurm)
}

// together runs tests on a cluster of so many nodes. Another cluster may run in parallel, because the tests mostly
// wait.
func together(t *testing.T, nodes int, tests []onNodes, env ...string) {
	t.Parallel()
	s := up(t, nodes, env...)
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) { c.test(t, s.within(t)) })
	}
}
