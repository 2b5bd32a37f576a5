// Package submit runs psbench on nodes of a Slurm cluster, and follows the job from the node that submitted it.
package submit

import (
	"fmt"
	"path"
	"strings"
)

// Slurm holds the resources that a job requests.
type Slurm struct {
	Nodes                    int
	Partition, Account, Time string   // "" means Slurm's default
	Args                     []string // more arguments of srun or sbatch; they come last and override the others
}

// name is the job name in Slurm.
const name = "psbench"

// options returns the arguments that srun and sbatch share. A job gets whole nodes with all their cores, because other
// jobs or fewer cores would change the measurement.
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

// srun returns the arguments of srun. Only the first task has srun's standard input and output. The output carries the
// delivery, and the end of the input interrupts the task. Each task reports its own end, so srun must not kill other
// tasks when one fails. Each task also pins its own processes.
func (s Slurm) srun(command []string) []string {
	args := append(s.options(s.Nodes), "--mpi=pmi2", "--cpu-bind=none", "--kill-on-bad-exit=0", "--input=0",
		"--output=0", "--error=all")
	return append(append(args, s.Args...), command...)
}

// complaint returns the message of a line that is an error message of Slurm. ok is false for other lines.
func complaint(line string) (text string, ok bool) {
	if help.MatchString(line) {
		return line, true
	}
	who, text, ok := strings.Cut(line, ": ")
	who = path.Base(who) // in messages about options, srun gives its path as its name
	if !ok || who != "srun" && who != "sbatch" && who != "scancel" && who != "squeue" &&
		!strings.HasPrefix(who, "slurmstepd") {
		return "", false
	}
	for _, level := range []string{"error: ", "fatal: "} {
		text = strings.TrimPrefix(text, level)
	}
	return strings.Trim(text, "* "), true
}
