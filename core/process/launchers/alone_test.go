package launchers

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// If any one variable of a task is missing, the task does not run alone, unless another launcher sets the remaining
// variables too.
func TestOneVariableIsMissing(t *testing.T) {
	archives := recorded(t)
	for _, name := range []string{"srun", "srun_pmi2", "sbatch_step", "mpirun", "mpirun5", "prterun", "hydra",
		"leaderworkerset", "job_tasks", "jobset"} {
		t.Run(name, func(t *testing.T) {
			s := system(archives["testdata/"+name+".txtar"])
			all := s.Environ
			for i, pair := range all {
				variable, _, _ := strings.Cut(pair, "=")
				s.Environ = append(append([]string{}, all[:i]...), all[i+1:]...)
				if f := Look(s); f.Refusal() == nil && variable != "PRTE_LAUNCHED" { // srun also sets PMIX_RANK
					t.Errorf("%s without %s runs alone:\n%s", name, variable, told(f))
				}
			}
		})
	}
}

// Variables that indicate other tasks keep a process from running alone. Variables of scripts and shells do not.
func TestSignsOfOthers(t *testing.T) {
	for environ, want := range map[string]string{
		"PSBENCH_SECRET=x":                                                         "PSBENCH_SECRET is set, but no launcher has started this process as one of several: unset it, or start psbench as several tasks, as mpirun does; PSBENCH_ALONE=1 to run this process alone",
		"PSBENCH_SECRET=":                                                          "",
		"PSBENCH_SECRET=x PSBENCH_ALONE=1":                                         "",
		"PSBENCH_SECRET=x PSBENCH_CORE=node1:1":                                    "PSBENCH_CORE is set, but",
		"LWS_GROUP_SIZE=2 LWS_WORKER_INDEX=1":                                      "LWS_GROUP_SIZE is 2 but LWS_LEADER_ADDRESS is not set: LeaderWorkerSet sets it in every pod of a group",
		"LWS_WORKER_INDEX=1":                                                       "LWS_WORKER_INDEX is 1 but LWS_LEADER_ADDRESS is not set",
		"SLURM_JOB_ID=1 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=1":                     "SLURM_STEP_NUM_TASKS is 4 but SLURM_STEP_ID is not set: srun sets both",
		"SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=1":                    "SLURM_STEP_NUM_TASKS is 4 but SLURM_JOB_ID is not set: srun sets both",
		"SLURM_JOB_ID=1 SLURM_PROCID=1":                                            "SLURM_PROCID is 1 but SLURM_STEP_ID is not set: srun sets both",
		"SLURM_STEP_NUM_TASKS=x":                                                   `SLURM_STEP_NUM_TASKS is "x" but must be a whole number`,
		"SLURM_JOB_ID=1 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0":                     "",
		"SLURM_JOB_ID=1 SLURM_NTASKS=4 SLURM_PROCID=0":                             "",
		"SLURM_JOB_ID=1 SLURM_NTASKS=4":                                            "",
		"OMPI_COMM_WORLD_LOCAL_RANK=1 PMIX_RANK=1":                                 "OMPI_COMM_WORLD_LOCAL_RANK is set but OMPI_COMM_WORLD_SIZE is not: a launcher sets both",
		"PSBENCH_TASKS=x":                                                          `PSBENCH_TASKS is "x" but must be a whole number from 1 to 16777216`,
		"PSBENCH_TASKS=-3":                                                         `PSBENCH_TASKS is "-3" but must be a whole number from 1 to 16777216`,
		"PSBENCH_TASKS=0":                                                          `PSBENCH_TASKS is "0" but must be a whole number from 1 to 16777216`,
		"PSBENCH_TASKS=x KUBERNETES_SERVICE_HOST=10.0.0.1":                         `PSBENCH_TASKS is "x" but must be`,
		"PSBENCH_TASKS=0 KUBERNETES_SERVICE_HOST=10.0.0.1":                         `PSBENCH_TASKS is "0" but must be`,
		"PSBENCH_TASKS=1":                                                          "",
		"PSBENCH_TASK=1":                                                           "PSBENCH_TASK is 1 but PSBENCH_TASKS, which says how many there are, is not set",
		"PSBENCH_TASK=abc":                                                         `PSBENCH_TASK is "abc" but must be a whole number from 0 to 16777216`,
		"PSBENCH_TASK=0 KUBERNETES_SERVICE_HOST=10.0.0.1":                          "PSBENCH_TASK is 0 but PSBENCH_TASKS, which says how many there are, is not set",
		"PSBENCH_TASKS=1 PSBENCH_TASK=0 KUBERNETES_SERVICE_HOST=10.0.1":            "",
		"JOB_COMPLETION_INDEX=0 KUBERNETES_SERVICE_HOST=10.0.0.1":                  "",
		"JOB_COMPLETION_INDEX=0 KUBERNETES_SERVICE_HOST=10.0.0.1 PSBENCH_SECRET=x": "by Kubernetes Job this process is rank 0 of tasks that it does not count (JOB_COMPLETION_INDEX=0)",
	} {
		t.Run(fmt.Sprintf("%.60s", environ), func(t *testing.T) {
			f := Look(System{Environ: strings.Fields(environ), Host: "here",
				ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }})
			err := f.Refusal()
			if strings.Contains(told(f), "SECRET=x") || strings.Contains(fmt.Sprint(f.Views), "{PSBENCH_SECRET") {
				t.Errorf("%s: the secret is shown:\n%s", environ, told(f))
			}
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v, want %q", environ, err, want)
			}
		})
	}
}
