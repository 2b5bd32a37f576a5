// Package launchers finds out which launcher started this process, which rank the process has among how many tasks, and
// where these values were read. Each launcher has a detector, which is a function of the environment. For launchers
// without variables, the detector also reads files. docs/launchers.md lists the detectors in order, with what they
// read.
package launchers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
)

// System is the input of the detectors.
type System struct {
	Environ   []string
	Host      string // name of this host
	ReadFile  func(path string) ([]byte, error)
	HostsFile string // path of the user's hosts file, or ""
	// IsHere reports whether a name or an address in the hosts file belongs to this host. If IsHere is nil, only the
	// host's own name belongs to this host.
	IsHere func(name string) bool
}

// Place is the rank of a process among the tasks of a launcher, and where it runs.
type Place struct {
	Size  int // number of tasks; 0 if the launcher does not give it
	Rank  int
	Local int // rank among the tasks on this host; -1 if the launcher does not give it
	Here  int // number of tasks on this host; 0 if the launcher does not give it
	Host  string
	From  Sources
	// Agents is set if the launcher has processes of its own that start tasks, and one of these started the task.
	// Another launcher may have started these processes.
	Agents *Agents
	// Others are the hosts of the user's hosts file except this one. These hosts are ranks 1, 2 and so on.
	Others []Host
	// Apart means that this host is not in the hosts file, so that it runs only the core.
	Apart bool
}

// Sources says where each value of a place was read: the name of a variable or the path of a file. A source is "" for
// the host's own name and for values that follow from the kind of launcher.
type Sources struct{ Size, Rank, Local, Here, Host string }

// Agents describes the launcher's own processes that start tasks.
type Agents struct {
	Size int // number of agents; 0 if unknown
	Rank int // rank of the agent that started the task
}

// Variable is an environment variable that was read. If a file was read, Name is the file's path.
type Variable struct{ Name, Value string }

// View is the result of one detector.
type View struct {
	Launcher string
	Place    *Place // nil if the launcher did not start this process
	Why      string
	Read     []Variable
	Err      error // set if the launcher's values contradict each other

	alone string // command that runs a single task
	weak  bool   // yields to other launchers
}

// Finding is the conclusion from the results of all detectors.
type Finding struct {
	Views    []View // in the order of the detectors
	Launcher string // name of the launcher that decides, or Alone
	Place    Place
	Why      string
	Err      error // contradiction within one view or between views
	// Lone is a warning for a process that runs alone although variables indicate other tasks. The warning says what to
	// do. Lone is "" if there are no such variables.
	Lone string

	reader *reader
}

// Alone is the value of Launcher for a process that no launcher started.
const Alone = "none"

// HostsFile is the value of Launcher if the user gives a hosts file.
const HostsFile = "--hosts"

// WithoutPlaces returns an environment for a process that starts on another host. WithoutPlaces removes all variables
// that say how this process was started. WithoutPlaces also removes the secret, because jobs create a better secret.
func WithoutPlaces(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(option.StartVariables(), name)
	})
}

// detector recognises one launcher. detect returns a place, or the reason why there is none. detect returns an error if
// the launcher started this process but set impossible values.
type detector struct {
	name   string
	alone  string // command that runs a single task
	detect func(*reader) (place *Place, why string, err error)
	weak   bool // its variables may be left over, so every other launcher takes precedence
}

// detectors lists all detectors in order. If several launchers agree on size and rank, psbench names the first of them.
// The order therefore begins with well-known launchers.
var detectors = []detector{
	{name: "Slurm", alone: "srun --ntasks=1 psbench ...", detect: slurm},
	{name: "Open MPI", alone: "mpirun -n 1 psbench ...", detect: openMPI},
	{name: hydra, alone: "mpiexec -n 1 psbench ...", detect: pmi},
	{name: "torchrun", alone: "psbench ... without torchrun", detect: torchrun},
	{name: kubernetes, alone: "a Job with parallelism 1 and " + option.TasksVariable + "=1", detect: job},
	{name: "LeaderWorkerSet", alone: "a group of size 1", detect: leaderWorkerSet},
	{name: HostsFile, alone: "a file of one host", detect: hostsFile},
	{name: torchVariables, alone: "a job of one pod", detect: torchDistributed, weak: true},
}

// torchVariables names the launcher of a task that has only the variables of torch.distributed, such as a PyTorchJob's
// pod.
const torchVariables = "torch.distributed"

// Look runs all detectors and decides between their results.
func Look(s System) *Finding {
	f := &Finding{}
	for _, d := range detectors {
		r := newReader(s)
		v := View{Launcher: d.name, alone: d.alone, weak: d.weak}
		v.Place, v.Why, v.Err = d.detect(r)
		if v.Err == nil && v.Place != nil {
			v.Err = v.Place.check()
		}
		if v.Read = r.read; v.Err != nil {
			v.Place, v.Why = nil, v.Err.Error()
			v.Err = contradicted(v)
		}
		f.Views = append(f.Views, v)
	}
	f.decide(newReader(s))
	return f
}

// check returns an error for impossible values.
func (p *Place) check() error {
	switch {
	case p.Size > 0 && p.Rank >= p.Size:
		return fmt.Errorf("rank %d of %d tasks is impossible: ranks count from 0", p.Rank, p.Size)
	case p.Size > 0 && p.Local >= p.Size:
		return fmt.Errorf("local rank %d of %d tasks is impossible: ranks count from 0", p.Local, p.Size)
	}
	return nil
}

// Several reports whether this process is, or may be, one of several tasks.
func (p *Place) Several() bool { return p.Size != 1 }

// Tasks returns the number of tasks as text.
func (p *Place) Tasks() string {
	if p.Size == 0 {
		return "not told"
	}
	return strconv.Itoa(p.Size)
}
