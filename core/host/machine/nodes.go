package machine

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/procfs"
)

// CPUs is a list of CPU numbers in ascending order. As text it has the kernel's format, such as 0-3,8.
type CPUs []int

// String formats the list as the kernel does.
func (c CPUs) String() string {
	var parts []string
	for i := 0; i < len(c); {
		end := i
		for end+1 < len(c) && c[end+1] == c[end]+1 {
			end++
		}
		part := strconv.Itoa(c[i])
		if end > i {
			part += "-" + strconv.Itoa(c[end])
		}
		parts, i = append(parts, part), end+1
	}
	return strings.Join(parts, ",")
}

// MarshalText implements encoding.TextMarshaler.
func (c CPUs) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *CPUs) UnmarshalText(text []byte) error {
	if *c = nil; len(text) == 0 {
		return nil
	}
	if *c = parseCPUs(string(text)); *c == nil {
		return fmt.Errorf("%q is no list of CPUs, as in 0-3,8", text)
	}
	return nil
}

// Node is a NUMA node. Node lists only the CPUs on which psbench may run.
type Node struct {
	Number int `json:"node"`
	// Cores lists, for each core, its hardware threads.
	Cores []CPUs `json:"cores"`
}

// CPUs returns the CPUs of all cores.
func (n Node) CPUs() CPUs {
	all := slices.Concat(n.Cores...)
	slices.Sort(all)
	return all
}

// Nodes returns the NUMA nodes of this machine that have CPUs for psbench. A CPU without a known node belongs to node
// 0. A CPU without a known core counts as its own core. The list is empty if the kernel lists no CPUs.
func Nodes() []Node { return nodes(procfs.Here()) }

func nodes(root fs.FS) []Node {
	left := parseCPUs(allowed(root))
	take := func(some CPUs) (taken CPUs) {
		for _, cpu := range some {
			if i, found := slices.BinarySearch(left, cpu); found {
				taken, left = append(taken, cpu), slices.Delete(left, i, i+1)
			}
		}
		return taken
	}
	var all []Node
	folders, _ := fs.Glob(root, "sys/devices/system/node/node[0-9]*")
	for _, folder := range folders {
		number, err := strconv.ParseUint(strings.TrimPrefix(folder, "sys/devices/system/node/node"), 10, 16)
		if err != nil {
			continue
		}
		if cpus := take(parseCPUs(word(procfs.Text(root, folder+"/cpulist")))); len(cpus) > 0 {
			all = append(all, Node{int(number), cores(root, cpus)})
		}
	}
	if len(left) > 0 {
		i := slices.IndexFunc(all, func(n Node) bool { return n.Number == 0 })
		if i < 0 {
			i, all = len(all), append(all, Node{})
		}
		all[i].Cores = append(all[i].Cores, cores(root, left)...)
	}
	slices.SortFunc(all, func(a, b Node) int { return a.Number - b.Number })
	return all
}

// cores groups CPUs by core.
func cores(root fs.FS, cpus CPUs) (all []CPUs) {
	for len(cpus) > 0 {
		siblings := parseCPUs(
			word(procfs.Text(root, fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", cpuFolder, cpus[0]))))
		var core, others CPUs
		for i, cpu := range cpus {
			if i == 0 || slices.Contains(siblings, cpu) {
				core = append(core, cpu)
			} else {
				others = append(others, cpu)
			}
		}
		all, cpus = append(all, core), others
	}
	return all
}
