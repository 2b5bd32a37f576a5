// Package launchers finds out which launcher started this process, as which of how many tasks, and where it read
// that. Each launcher has a detector, a function of the environment and, for launchers without variables, of files.
// docs/launchers.md has their order and what they read.
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
	Host      string // this host's own name
	ReadFile  func(path string) ([]byte, error)
	HostsFile string // that the user names, or ""
	// IsHere reports whether a name or an address of that file belongs to this host; if nil, only the host's own
	// name does.
	IsHere func(name string) bool
}

// Place is the place of a process among the tasks of a launcher.
type Place struct {
	Size  int // tasks, 0 if the launcher does not say
	Rank  int
	Local int // rank among the tasks of the host, -1 if the launcher does not say
	Here  int // tasks on this host, 0 if the launcher does not say
	Host  string
	From  Sources
	// Agents is set if one of several processes of the launcher itself started the task. Another launcher may have
	// started those processes.
	Agents *Agents
	// Others are the hosts of the user's file without this one: ranks 1, 2 and so on.
	Others []Host
	// Apart means that this host is not in that file, so it runs only the core.
	Apart bool
}

// Sources says where the values of a place come from: a variable, a file, or "" for values that follow from the
// launcher itself and for the host's own name.
type Sources struct{ Size, Rank, Local, Here, Host string }

// Agents are a launcher's own processes.
type Agents struct {
	Size int // 0 if unknown
	Rank int // of the one that started the task
}

// Variable is a variable that was read. For a file, Name is its path.
type Variable struct{ Name, Value string }

// View is one detector's view of a system.
type View struct {
	Launcher string
	Place    *Place // nil if the launcher did not start this process
	Why      string
	Read     []Variable
	Err      error // a contradiction within the view

	alone string // how to run as a single task
	weak  bool   // it does not contradict others
}

// Finding is the conclusion from all views.
type Finding struct {
	Views    []View // in the order of the detectors
	Launcher string // the deciding one, or Alone
	Place    Place
	Why      string
	Err      error // a contradiction within a view, or between views
	// Lone warns a process that runs alone: what hints at other tasks, and what to do; "" without such hints.
	Lone string

	reader *reader
}

// Alone is the launcher of a process that no launcher started.
const Alone = "none"

// HostsFile is the launcher of a process whose user lists the hosts.
const HostsFile = "--hosts"

// WithoutPlaces returns an environment without the variables that say how this process was started, for a process
// that starts elsewhere. It also removes the secret, because jobs make a better one.
func WithoutPlaces(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(option.StartVariables(), name)
	})
}

// detector recognises one launcher. It returns a place, or the reason why there is none. An error means that the
// launcher started this process but its values are impossible.
type detector struct {
	name   string
	alone  string // how to run as a single task
	detect func(*reader) (place *Place, why string, err error)
	weak   bool // its variables may be left over, so any other launcher takes precedence
}

// detectors lists all detectors in their order. If launchers agree on size and rank, the first one is named; the
// order prefers those that people know.
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

// torchVariables is a launcher recognised by variables alone, such as a PyTorchJob.
const torchVariables = "torch.distributed"

// Look runs all detectors.
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

// check refuses impossible values.
func (p *Place) check() error {
	switch {
	case p.Size > 0 && p.Rank >= p.Size:
		return fmt.Errorf("rank %d of %d tasks is impossible: ranks count from 0", p.Rank, p.Size)
	case p.Size > 0 && p.Local >= p.Size:
		return fmt.Errorf("local rank %d of %d tasks is impossible: ranks count from 0", p.Local, p.Size)
	}
	return nil
}

// Several reports whether this process is, or may be, one of several.
func (p *Place) Several() bool { return p.Size != 1 }

// Tasks words the number of tasks.
func (p *Place) Tasks() string {
	if p.Size == 0 {
		return "not told"
	}
	return strconv.Itoa(p.Size)
}
