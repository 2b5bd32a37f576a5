package launchers

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

// What a user gives all tasks of a launcher that does not let them talk.
const (
	SecretVariable = "PSBENCH_SECRET" // #nosec G101 -- the name of a variable
	CoreVariable   = "PSBENCH_CORE"   // HOST:PORT at which the first task listens
)

// CorePort is where the first task listens if the launcher tells its host alone.
const CorePort = "29417"

// Core is the address HOST:PORT of the first task, "" where nobody tells it, and the variable that tells it: the
// user's, or that by which torchrun or LeaderWorkerSet name a host.
func (f *Finding) Core(environ []string) (address, variable string) {
	value := func(name string) string {
		for _, v := range slices.Backward(environ) {
			if text, is := strings.CutPrefix(v, name+"="); is {
				return text
			}
		}
		return ""
	}
	if core := value(CoreVariable); core != "" {
		return core, CoreVariable
	}
	leader := map[string]string{"torchrun": "MASTER_ADDR", "LeaderWorkerSet": "LWS_LEADER_ADDRESS"}[f.Launcher]
	if leader == "" || value(leader) == "" {
		return "", ""
	}
	return net.JoinHostPort(value(leader), CorePort), leader
}

// Stranded says that this task cannot find the others, and what would help.
func (f *Finding) Stranded() error {
	v := f.view()
	return fmt.Errorf("by %s this process is %s (%s), which have no way to find each other: start them by a launcher with PMI-1, as srun --mpi=pmi2, or give all a secret by --secret-file or %s; %s=1 if this process is to run alone",
		v.Launcher, f.Place.words(), v.sources(), SecretVariable, OverrideVariable)
}
