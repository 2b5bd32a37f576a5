// Package launchers says who started this process: which launcher, as which of how many tasks,
// and where that was read. A detector for each launcher is a function of the environment, and of
// files where a launcher has only those; docs/launchers.md has their order and what they read.
package launchers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
)

// System is what detectors look at.
type System struct {
	Environ   []string
	Host      string // its own name
	ReadFile  func(path string) ([]byte, error)
	HostsFile string // that the user names, or ""
	// IsHere says whether a name or an address of that file stands for this host; nil: only its own name does.
	IsHere func(name string) bool
}

// Place is that of a process among the tasks of a launcher.
type Place struct {
	Size  int // tasks, 0 where the launcher does not tell
	Rank  int
	Local int // rank among the tasks of the host, -1 where the launcher does not tell
	Here  int // tasks on this host, 0 where the launcher does not tell
	Host  string
	From  Sources
	// Agents are there where a process of the launcher's own, one of several, started the task:
	// another launcher may have started those.
	Agents *Agents
	// Others are the hosts of the user's file but this one: those of ranks 1, 2 and so on.
	Others []Host
	// Apart says that this host is not in that file, and so takes no part beyond the core.
	Apart bool
}

// Sources are what the values of a place were read from: a variable, a file, or "" for what follows from
// the launcher's being there, and for the host's own name.
type Sources struct{ Size, Rank, Local, Here, Host string }

// Agents are a launcher's own processes.
type Agents struct {
	Size int // 0 where that is not told
	Rank int // of the one that started the task
}

// Variable is what was read, and where: of a file its path is the name.
type Variable struct{ Name, Value string }

// View is what one detector makes of a system.
type View struct {
	Launcher string
	Place    *Place // nil where the launcher has not started this process
	Why      string
	Read     []Variable
	Err      error // what contradicts itself

	alone string // what to do to be a single task
	weak  bool   // it says nothing against others
}

// Finding is what all of them come to.
type Finding struct {
	Views    []View // in the order in which they are asked
	Launcher string // that decides, Alone if none does
	Place    Place
	Why      string
	Err      error // what contradicts itself, or each other
	// Lone is a warning to a process that runs alone: what tells of other tasks, and what to do. "" where nothing does.
	Lone string

	reader *reader
}

// Alone is the launcher of a process that none has started.
const Alone = "none"

// HostsFile is the launcher of a process whose user lists the hosts.
const HostsFile = "--hosts"

// WithoutPlaces returns an environment without the variables that say how this process was started, for one that starts
// elsewhere. So a secret does not travel in it: jobs have a better one.
func WithoutPlaces(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(option.StartVariables(), name)
	})
}

// detector knows one launcher. It returns a place, or why there is none; with an error the
// launcher has started this process but says what cannot be.
type detector struct {
	name   string
	alone  string // what to do to be a single task
	detect func(*reader) (place *Place, why string, err error)
	weak   bool // variables that others may have left: any other launcher counts instead
}

// detectors are in the order in which they are asked. The order decides between launchers that agree
// on size and rank, so that the one is named whose words people know.
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

// torchVariables are a launcher that is known by variables alone, such as a PyTorchJob.
const torchVariables = "torch.distributed"

// Look asks all detectors.
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

// check finds what no launcher can mean.
func (p *Place) check() error {
	switch {
	case p.Size > 0 && p.Rank >= p.Size:
		return fmt.Errorf("rank %d of %d tasks is impossible: ranks count from 0", p.Rank, p.Size)
	case p.Size > 0 && p.Local >= p.Size:
		return fmt.Errorf("local rank %d of %d tasks is impossible: ranks count from 0", p.Local, p.Size)
	}
	return nil
}

// Several says whether this process is one of several, or may be.
func (p *Place) Several() bool { return p.Size != 1 }

// Tasks is the count of tasks in words.
func (p *Place) Tasks() string {
	if p.Size == 0 {
		return "not told"
	}
	return strconv.Itoa(p.Size)
}
