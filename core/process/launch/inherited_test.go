package launch

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/host/machine"
)

// allowed returns the CPUs on which a process and all its threads may run, in the kernel's notation.
func allowed(t *testing.T, pid int) string {
	t.Helper()
	lists := map[string]bool{}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pid, thread.Name()))
		if err != nil {
			continue // the process has ended
		}
		_, rest, _ := strings.Cut(string(status), "Cpus_allowed_list:")
		list, _, _ := strings.Cut(rest, "\n")
		lists[strings.TrimSpace(list)] = true
	}
	var all []string
	for list := range lists {
		all = append(all, list)
	}
	return strings.Join(all, " and ")
}

// A process is restricted to its CPUs from its first thread on. A later process without a restriction may use the same
// CPUs as the core.
func TestCPUsOfAProcess(t *testing.T) {
	all := machine.CPUs{}
	for _, n := range machine.Nodes() {
		all = append(all, n.CPUs()...)
	}
	l := launcher(t)
	last := all[len(all)-1:]
	p, err := l.Start(t.Context(), Spec{Name: "pinned", CPUs: last})
	if err != nil {
		t.Fatal(err)
	}
	free := started(t, l, "free")
	for pid, want := range map[int]string{p.PID(): last.String(), free.PID(): machine.Read(nil).Affinity} {
		t.Run(fmt.Sprint(pid), func(t *testing.T) {
			if got := allowed(t, pid); got != want {
				t.Errorf("process %d may run on %s, want %s", pid, got, want)
			}
		})
	}
}

func TestCPUsThatAreNotThere(t *testing.T) {
	l := launcher(t)
	first := machine.Nodes()[0].CPUs()[0]
	for text, cpus := range map[string]machine.CPUs{
		"it cannot run on the CPUs 1000: invalid argument":                    {1000},
		fmt.Sprintf("it cannot run on all of the CPUs %d,1000", first):        {first, 1000},
		fmt.Sprintf("it cannot run on all of the CPUs %d,%d", first, 1000000): {first, 1000000},
	} {
		t.Run(text, func(t *testing.T) {
			_, err := l.Start(context.Background(), Spec{Name: "trainer0", CPUs: cpus})
			if err == nil || !strings.Contains(err.Error(), "trainer0 cannot be started: "+text) {
				t.Errorf("on CPUs %s: %v", cpus, err)
			}
		})
	}
}
