// Package submit makes Slurm run psbench on nodes of its cluster, and follows the job from where it was submitted.
package submit

import (
	"fmt"
	"path"
	"strings"
)

// Slurm describes the resources of a job.
type Slurm struct {
	Nodes                    int
	Partition, Account, Time string   // "" leaves it to Slurm
	Args                     []string // further arguments of srun or sbatch, which come last and so win
}

// name is the name of the jobs.
const name = "psbench"

// options returns the common options of srun and sbatch. A job has its nodes to itself, with all their cores: other
// jobs, or a single core, would change what is measured.
func (s Slurm) options(nodes int) []string {
	args := []string{"--job-name=" + name, fmt.Sprintf("--nodes=%d", nodes), "--ntasks-per-node=1", "--exclusive",
		"--mem=0", "--export=ALL"}
	for _, o := range [][2]string{{"partition", s.Partition}, {"account", s.Account}, {"time", s.Time}} {
		if o[1] != "" {
			args = append(args, "--"+o[0]+"="+o[1])
		}
	}
	return args
}

// srun returns the arguments of srun. Only the first task has its standard input and output, which the follower of
// the job uses. Each task reports its own end, so none is killed for another's failure, and each pins its own
// processes.
func (s Slurm) srun(command []string) []string {
	args := append(s.options(s.Nodes), "--mpi=pmi2", "--cpu-bind=none", "--kill-on-bad-exit=0", "--input=0",
		"--output=0", "--error=all")
	return append(append(args, s.Args...), command...)
}

// complaint returns the message of a line if Slurm complains in it.
func complaint(line string) (text string, ok bool) {
	if help.MatchString(line) {
		return line, true
	}
	who, text, ok := strings.Cut(line, ": ")
	who = path.Base(who) // srun names itself by its path when it complains about options
	if !ok || who != "srun" && who != "sbatch" && who != "scancel" && who != "squeue" &&
		!strings.HasPrefix(who, "slurmstepd") {
		return "", false
	}
	for _, level := range []string{"error: ", "fatal: "} {
		text = strings.TrimPrefix(text, level)
	}
	return strings.Trim(text, "* "), true
}
