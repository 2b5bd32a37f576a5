package launchers

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
)

// CorePort is the port of the first task if the launcher gives only that task's host.
const CorePort = "29417"

// Core returns the address HOST:PORT of the first task, and the variable that contains it. The variable is either the
// user's or the one in which torchrun or LeaderWorkerSet gives the host. If neither is set, both results are "".
func (f *Finding) Core(environ []string) (address, variable string) {
	value := func(name string) string {
		for _, v := range slices.Backward(environ) {
			if text, is := strings.CutPrefix(v, name+"="); is {
				return text
			}
		}
		return ""
	}
	if core := value(option.CoreVariable); core != "" {
		return core, option.CoreVariable
	}
	leader := map[string]string{"torchrun": "MASTER_ADDR", torchVariables: "MASTER_ADDR",
		"LeaderWorkerSet": "LWS_LEADER_ADDRESS"}[f.Launcher]
	if leader == "" || value(leader) == "" {
		return "", ""
	}
	return net.JoinHostPort(value(leader), CorePort), leader
}

// Stranded returns the error for a task that cannot find the other tasks. The error says which command to type instead.
func (f *Finding) Stranded() error {
	v := f.view()
	return fmt.Errorf(
		"by %s this process is %s (%s), which have no way to find each other: %s; %s=1 to run this process alone",
		v.Launcher, f.Place.words(), v.sources(), f.meeting(), option.OverrideVariable)
}

// meeting returns advice on how the tasks of this launcher can find each other.
func (f *Finding) meeting() string {
	const drawn = "head -c 32 /dev/urandom | base64"
	switch f.Launcher {
	case "Slurm":
		return "type srun --mpi=pmi2 --ntasks-per-node=1 psbench ..."
	case "Open MPI":
		return fmt.Sprintf("type %s=$(%s) mpirun -x %s -x %s=%s -n %d --map-by ppr:1:node psbench ...",
			option.SecretVariable, drawn, option.SecretVariable, option.CoreVariable, f.first(), f.Place.Size)
	case "torchrun":
		return "make a secret, " + drawn +
			" >key && chmod 600 key, copy the file to all hosts, and type torchrun ... psbench run --secret-file key"
	case kubernetes, "LeaderWorkerSet", torchVariables:
		return fmt.Sprintf("the manifest must give all pods a secret by %s, as deploy/job.yaml does",
			option.SecretVariable)
	}
	return fmt.Sprintf(
		"start them by a launcher with PMI-1, as srun --mpi=pmi2, or give all a secret by --secret-file or %s",
		option.SecretVariable)
}

// first returns an address for the first task. Only that task knows its host.
func (f *Finding) first() string {
	if f.Place.Rank == 0 {
		return net.JoinHostPort(f.Place.Host, CorePort)
	}
	return "HOST_OF_RANK_0:" + CorePort
}

// Crowded returns an error if several tasks share this host. One task would start all processes of the host, so the
// error says which command to type instead. Crowded returns nil if the launcher reports no such tasks.
func (f *Finding) Crowded() error {
	p := f.Place
	if p.Here < 2 {
		return nil
	}
	launcher, apart := "mpirun", "mpirun --map-by ppr:1:node psbench ..."
	if f.Launcher == "torchrun" {
		launcher, apart = "torchrun", "torchrun --nproc-per-node 1 ..."
	}
	instead := "start one task on each host, as with " + apart
	if p.Here == p.Size {
		instead = fmt.Sprintf("type it without %s, as in psbench run --ntrainer %d", launcher, p.Here)
	}
	return fmt.Errorf("by %s %d tasks run on this host (%s=%d), but psbench starts all processes of a host by itself: %s; %s=1 to run each task alone",
		f.Launcher, p.Here, p.From.Here, p.Here, instead, option.OverrideVariable)
}
