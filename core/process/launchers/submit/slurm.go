// Package submit has Slurm run psbench on nodes of its cluster, and follows the job from where it was submitted.
package submit

import (
	"fmt"
	"path"
	"strings"
)

// Slurm is what a job is asked for.
type Slurm struct {
	Nodes                    int
	Partition, Account, Time string   // "" leaves it to Slurm
	Args                     []string // more of srun, or sbatch, which come last and so win
}

// name is that of the jobs.
const name = "psbench"

// options are those of srun and sbatch alike. A job has its nodes to itself, with all that they have: what is
// measured beside others, or on one of the cores, is something else.
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

// srun are its arguments. The first task alone has its standard input and output, whose end and whose lines are
// for who follows the job. Each says itself why it ends, so none is killed for another's failure, and pins its
// processes itself.
func (s Slurm) srun(command []string) []string {
	args := append(s.options(s.Nodes), "--mpi=pmi2", "--cpu-bind=none", "--kill-on-bad-exit=0", "--input=0",
		"--output=0", "--error=all")
	return append(append(args, s.Args...), command...)
}

// complaint is what a line says of what went wrong, if Slurm says it.
func complaint(line string) (text string, ok bool) {
	if help.MatchString(line) {
		return line, true
	}
	who, text, ok := strings.Cut(line, ": ")
	who = path.Base(who) // of its options srun complains by the path that it was called by
	if !ok || who != "srun" && who != "sbatch" && who != "scancel" && who != "squeue" &&
		!strings.HasPrefix(who, "slurmstepd") {
		return "", false
	}
	for _, level := range []string{"error: ", "fatal: "} {
		text = strings.TrimPrefix(text, level)
	}
	return strings.Trim(text, "* "), true
}
