package launchers

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/quote"
)

// firstNamedStep is the lowest step number that srun does not use. The numbers from this one on stand for batch
// scripts, interactive shells, and processes outside any step.
const firstNamedStep = 4294967280

// nodeName is the variable with Slurm's name for this host.
const nodeName = "SLURMD_NODENAME"

// slurm recognises a task of a step. srun starts a step with one process for each rank. All other processes in an
// allocation run alone, even if the allocation has room for more tasks: a shell of salloc, a batch script, or each
// element of a job array. Such processes also have SLURM_NTASKS and SLURM_PROCID.
func slurm(r *reader) (*Place, string, error) {
	name, id := r.first("SLURM_JOB_ID", "SLURM_JOBID")
	if name == "" {
		return nil, "SLURM_JOB_ID is not set", r.without("SLURM_JOB_ID")
	}
	if old, set := r.text("SLURM_JOBID"); set && old != id {
		return nil, "", fmt.Errorf("%s is %s but SLURM_JOBID is %s: they are one job", name, quote.Word(id),
			quote.Word(old))
	}
	job := "job " + quote.Word(id)
	if element, set := r.text("SLURM_ARRAY_TASK_ID"); set {
		array, _ := r.text("SLURM_ARRAY_JOB_ID")
		job += fmt.Sprintf(", element %s of the array %s", quote.Word(element), quote.Word(array))
	}
	step, started := r.text("SLURM_STEP_ID")
	if !started {
		if err := r.without("SLURM_STEP_ID"); err != nil {
			return nil, "", err
		}
	}
	_, script := r.text("SLURM_PROCID")
	switch {
	case !started && !script:
		return nil, fmt.Sprintf("a shell in the allocation of %s: no step has started it", job), nil
	case !started:
		return r.single(), fmt.Sprintf("the batch script of %s, one process whatever SLURM_NTASKS is", job), nil
	case isNamedStep(step):
		return r.single(), fmt.Sprintf("the shell or the script of %s, one process whatever SLURM_NTASKS is", job), nil
	}
	submitted, err := r.elsewhere()
	if err != nil {
		return nil, "", err
	}
	if submitted {
		return r.single(),
			fmt.Sprintf("the batch script of %s: the step that its variables name has more nodes, so it is the one that submitted the job",
				job), nil
	}
	p, err := r.place("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID")
	if err != nil {
		return nil, "", err
	}
	r.named(p, nodeName)
	return p, fmt.Sprintf("a task of step %s of %s", quote.Word(step), job), r.listed(p)
}

// without returns an error if variables show that this process is a task of a step. The caller has found that the
// variable missing, which every such task has, is not set.
func (r *reader) without(missing string) error {
	tasks, err := r.number("SLURM_STEP_NUM_TASKS")
	if err != nil {
		return err
	}
	rank, err := r.number("SLURM_PROCID")
	if err != nil {
		return err
	}
	switch {
	case tasks > 1:
		return fmt.Errorf("SLURM_STEP_NUM_TASKS is %d but %s is not set: srun sets both", tasks, missing)
	case rank > 0: // a batch script has rank 0
		return fmt.Errorf("SLURM_PROCID is %d but %s is not set: srun sets both", rank, missing)
	}
	return nil
}

// single returns the place of a process that runs as a single task.
func (r *reader) single() *Place { return r.named(&Place{Size: 1, Host: r.Host}, nodeName) }

func isNamedStep(step string) bool {
	n, err := strconv.ParseUint(step, 10, 32)
	return err == nil && n >= firstNamedStep
}

// elsewhere reports whether the step's variables belong to another job, because sbatch within a step passes them on.
// elsewhere recognises such variables by a step with more nodes than its job. Heterogeneous jobs are excluded, because
// their parts share steps.
func (r *reader) elsewhere() (bool, error) {
	if _, mixed := r.text("SLURM_HET_SIZE"); mixed {
		return false, nil
	}
	step, err := r.number("SLURM_STEP_NUM_NODES")
	if err != nil {
		return false, err
	}
	job, err := r.number("SLURM_JOB_NUM_NODES")
	return job > 0 && step > job, err
}

// listed returns an error if rank and local rank do not match Slurm's list of the ranks on this host.
func (r *reader) listed(p *Place) error {
	list, set := r.text("SLURM_GTIDS")
	if !set || p.Local < 0 {
		return nil
	}
	ranks := strings.Split(list, ",")
	if p.Local >= len(ranks) || ranks[p.Local] != strconv.Itoa(p.Rank) {
		return fmt.Errorf("SLURM_PROCID is %d and SLURM_LOCALID is %d, but SLURM_GTIDS, the ranks of this host, is %s",
			p.Rank, p.Local, quote.String(list))
	}
	return nil
}
