package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/core/host/machine"
)

// hosts returns n equal hosts. Each has this many NUMA nodes and GPUs. Each node has this many cores, with two threads
// per core.
func hosts(n, nodes, cores, gpus int) []Host {
	list := make([]Host, n)
	for i := range list {
		list[i] = Host{Name: fmt.Sprintf("node%d", i+1), GPUs: gpus}
		for node := range nodes {
			one := machine.Node{Number: node}
			for core := range cores {
				cpu := node*cores + core
				one.Cores = append(one.Cores, machine.CPUs{cpu, cpu + nodes*cores})
			}
			list[i].Nodes = append(list[i].Nodes, one)
		}
	}
	return list
}

// processesOf returns data, trainers and servers. In each kind, the ranks with devices come last. If companions is set,
// each trainer has a companion.
func processesOf(trainers, cudaTrainers, servers, cudaServers int, companions bool) []Process {
	all := []Process{{Name: "data", Kind: Data}}
	for i := range trainers + cudaTrainers {
		t := Process{Name: fmt.Sprintf("trainer%d", i), Kind: Trainer, CUDA: i >= trainers}
		if all = append(all, t); companions {
			all = append(all, Process{Name: t.Name + ".hook", Kind: Trainer, Beside: t.Name})
		}
	}
	for i := range servers + cudaServers {
		all = append(all, Process{Name: fmt.Sprintf("server%d", i), Kind: Server, CUDA: i >= servers})
	}
	return all
}

// drawn formats where ranks are, one host after another, as in "t0 t1 s0 | t2 t3 s1".
func drawn(n int, processes []Process, plan map[string]int) string {
	on := make([][]string, n)
	for _, p := range processes {
		name := strings.NewReplacer("trainer", "t", "server", "s").Replace(p.Name)
		on[plan[p.Name]] = append(on[plan[p.Name]], name)
	}
	var list []string
	for _, names := range on {
		list = append(list, strings.Join(names, " "))
	}
	return strings.Join(list, " | ")
}

func TestPlan(t *testing.T) {
	mixed := hosts(4, 1, 2, 0)
	mixed[1].GPUs, mixed[3].GPUs = 2, 1
	for name, c := range map[string]struct {
		hosts     []Host
		processes []Process
		policy    Policy
		want      string // a layout, or an error
	}{
		"one host": {hosts(1, 1, 2, 0), processesOf(2, 0, 1, 0, true), Spread,
			"data t0 t0.hook t1 t1.hook s0"},
		"spread": {hosts(2, 1, 2, 0), processesOf(4, 0, 2, 0, false), Spread,
			"data t0 t1 s0 | t2 t3 s1"},
		"beside the first of its": {hosts(4, 1, 2, 0), processesOf(8, 0, 2, 0, false), Spread,
			"data t0 t1 s0 | t2 t3 | t4 t5 s1 | t6 t7"},
		"uneven": {hosts(3, 1, 2, 0), processesOf(4, 0, 4, 0, false), Spread,
			"data t0 t1 s0 s1 | t2 s2 | t3 s3"},
		"fewer trainers than hosts": {hosts(4, 1, 2, 0), processesOf(2, 0, 2, 0, true), Spread,
			"data t0 t0.hook s0 |  | t1 t1.hook s1 | "},
		"no servers": {hosts(2, 1, 2, 0), processesOf(2, 0, 0, 0, false), Apart, "data t0 | t1"},
		"packed": {hosts(3, 1, 2, 0), processesOf(6, 0, 2, 0, false), Packed,
			"data t0 t1 | t2 t3 | t4 t5 s0 s1"},
		"packed on two": {hosts(3, 1, 2, 0), processesOf(6, 0, 3, 0, false), Packed,
			"data t0 t1 | t2 t3 s0 s1 | t4 t5 s2"},
		"packed, too many": {hosts(2, 1, 1, 0), processesOf(8, 0, 8, 0, false), Packed,
			"data t0 t1 t2 t3 s0 s1 s2 s3 | t4 t5 t6 t7 s4 s5 s6 s7"},
		"apart": {hosts(3, 1, 2, 0), processesOf(4, 0, 1, 0, false), Apart,
			"data t0 t1 | t2 t3 | s0"},
		"apart, equally many": {hosts(4, 1, 2, 0), processesOf(4, 0, 4, 0, false), Apart,
			"data t0 t1 | t2 t3 | s0 s1 | s2 s3"},
		"apart, more servers": {hosts(2, 1, 2, 0), processesOf(1, 0, 8, 0, false), Apart,
			"data t0 | s0 s1 s2 s3 s4 s5 s6 s7"},
		"devices":               {mixed, processesOf(0, 4, 0, 2, false), Spread, "data | t0 t1 s0 |  | t2 t3 s1"},
		"packed on devices":     {mixed, processesOf(0, 4, 0, 1, false), Packed, "data | t0 t1 |  | t2 t3 s0"},
		"packed on two devices": {mixed, processesOf(0, 4, 0, 2, false), Packed, "data | t0 t1 s0 |  | t2 t3 s1"},
		"both kinds": {mixed, processesOf(4, 2, 2, 2, false), Spread,
			"data t0 s0 | t1 t4 s2 | t2 s1 | t3 t5 s3"},
		"no host": {nil, processesOf(1, 0, 0, 0, false), Spread,
			"there is no host for the processes of the run"},
		"apart on one host": {
			hosts(1, 1, 2, 0), processesOf(2, 0, 1, 0, false), Apart,
			"servers cannot be on hosts of their own (place is apart): node1 is the only host; give more hosts, or place spread or packed",
		},
		"no device": {
			hosts(1, 1, 2, 0), processesOf(0, 2, 0, 0, false), Spread,
			"trainer0 computes on a CUDA device, but node1 has none that CUDA_VISIBLE_DEVICES leaves visible",
		},
		"no device anywhere": {
			hosts(3, 1, 2, 0), processesOf(2, 0, 0, 1, false), Spread,
			"server0 computes on a CUDA device, but none of 3 hosts has one that CUDA_VISIBLE_DEVICES leaves visible",
		},
		"no device for servers": {
			mixed[:3], processesOf(2, 0, 0, 1, false), Apart,
			"server0 computes on a CUDA device, but none of the hosts for servers, of 3 hosts, has one that CUDA_VISIBLE_DEVICES leaves visible",
		},
		"a companion of nobody": {
			hosts(1, 1, 1, 0), []Process{{Name: "a.hook", Kind: Trainer, Beside: "a"}}, Spread,
			"a.hook must be beside a, which is not placed before it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := Plan(c.hosts, c.processes, c.policy)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = drawn(len(c.hosts), c.processes, plan)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// run is a random input for a property test.
type run struct {
	hosts     []Host
	processes []Process
	policy    Policy
	affinity  Affinity
	servers   int // number of servers without a device
	trainers  int
}

// draw draws an input for which a plan exists. The hosts are equal, except for their numbers of devices.
func draw(t *rapid.T) run {
	count := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(t, name) }
	r := run{
		policy:   Policy(rapid.SampledFrom(Policies).Draw(t, "policy")),
		affinity: Affinity(rapid.SampledFrom(Affinities).Draw(t, "affinity")),
		hosts:    hosts(count("hosts", 1, 6), count("nodes", 1, 4), count("cores", 1, 8), 0),
	}
	r.servers = count("servers", 0, 6)
	r.trainers = max(1, r.servers) * count("trainers of a server", 1, 4)
	if r.policy == Apart && len(r.hosts) == 1 {
		r.policy = Spread
	}
	cuda := rapid.Bool().Draw(t, "devices")
	for i := range r.hosts {
		if cuda {
			r.hosts[i].GPUs = rapid.IntRange(0, 4).Draw(t, "GPUs")
		}
	}
	if cuda { // under every policy, the first host is for trainers and the last for servers
		r.hosts[0].GPUs = max(1, r.hosts[0].GPUs)
		r.hosts[len(r.hosts)-1].GPUs = max(1, r.hosts[len(r.hosts)-1].GPUs)
		r.processes = processesOf(r.trainers, count("CUDA trainers", 0, 4), r.servers, count("CUDA servers", 0, 4),
			rapid.Bool().Draw(t, "companions"))
	} else {
		r.processes = processesOf(r.trainers, 0, r.servers, 0, rapid.Bool().Draw(t, "companions"))
	}
	return r
}

// Every process is on one host. Companions are on the hosts of their processes, and data is on the core's host. Among
// the hosts that have ranks of a kind, the numbers of these ranks differ by at most one, and ranks are in order. Ranks
// with a device are on hosts that have one.
func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		plan, err := Plan(r.hosts, r.processes, r.policy)
		if err != nil {
			t.Fatal(err)
		}
		if len(plan) != len(r.processes) {
			t.Fatalf("%d of %d processes are placed", len(plan), len(r.processes))
		}
		if again, _ := Plan(r.hosts, r.processes, r.policy); !maps.Equal(plan, again) {
			t.Fatal("a second plan is another")
		}
		loads := map[string]map[int]int{}
		last := map[string]int{}
		for _, p := range r.processes {
			h := plan[p.Name]
			if h < 0 || h >= len(r.hosts) || p.Beside != "" && plan[p.Beside] != h || p.Kind == Data && h != 0 ||
				p.CUDA && r.hosts[h].GPUs == 0 {
				t.Fatalf("%+v is on host %d", p, h)
			}
			if p.Beside != "" || p.Kind == Data {
				continue
			}
			sort := fmt.Sprint(p.Kind, p.CUDA)
			if loads[sort] == nil {
				loads[sort] = map[int]int{}
			}
			if loads[sort][h]++; h < last[sort] {
				t.Fatalf("%s is on host %d, after a rank on host %d", p.Name, h, last[sort])
			}
			last[sort] = h
		}
		for sort, load := range loads {
			counts := slices.Sorted(maps.Values(load))
			if counts[len(counts)-1]-counts[0] > 1 {
				t.Errorf("hosts have %v of %s", load, sort)
			}
		}
		for h := range loads["trainerfalse"] {
			if loads["serverfalse"][h] > 0 && r.policy == Apart {
				t.Errorf("host %d has trainers and servers", h)
			}
		}
	})
}

// With the policy Spread, a server is on the host of its first trainer.
func TestServersAreBesideTheirTrainers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		plan, err := Plan(r.hosts, r.processes, Spread)
		if err != nil {
			t.Fatal(err)
		}
		for s := range r.servers {
			server, trainer := fmt.Sprintf("server%d", s), fmt.Sprintf("trainer%d", s*r.trainers/r.servers)
			if plan[server] != plan[trainer] {
				t.Errorf("%s is on host %d, but its %s on host %d", server, plan[server], trainer, plan[trainer])
			}
		}
	})
}

// No core has two trainers or servers. All trainers and servers have the same number of cores. Companions have the same
// cores as their processes.
func TestPinsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		l, err := Lay(r.hosts, r.processes, r.policy, r.affinity)
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Processes) != len(r.processes) {
			t.Fatalf("%d of %d processes are laid out", len(l.Processes), len(r.processes))
		}
		noted := map[int]bool{}
		for h := range r.hosts {
			noted[h] = slices.ContainsFunc(l.Notes,
				func(n string) bool { return strings.Contains(n, " of "+r.hosts[h].Name+" has ") })
		}
		users, each := map[string]string{}, map[int]int{}
		for i, p := range r.processes {
			placed := l.Processes[i]
			h := placed.Host
			if placed.Name != p.Name || (placed.Device != nil) != p.CUDA ||
				placed.Device != nil && *placed.Device >= r.hosts[h].GPUs {
				t.Fatalf("%+v is %+v", p, placed)
			}
			if (placed.Node == nil) != (r.affinity == Anywhere) {
				t.Fatalf("affinity %s: %+v", r.affinity, placed)
			}
			if placed.Node == nil {
				continue
			}
			node := r.hosts[h].Nodes[*placed.Node]
			whole := slices.Equal(placed.CPUs, node.CPUs())
			for _, cpu := range placed.CPUs {
				if !slices.Contains(node.CPUs(), cpu) {
					t.Fatalf("%s has CPU %d, which is not of node %d", p.Name, cpu, node.Number)
				}
			}
			beside, _ := l.Of(p.Beside)
			switch {
			case p.Beside != "":
				if !slices.Equal(placed.CPUs, beside.CPUs) {
					t.Fatalf("%s has %s, but %s has %s", p.Name, placed.CPUs, p.Beside, beside.CPUs)
				}
			case r.affinity == OnNode || p.Kind == Data || noted[h]:
				if !whole {
					t.Fatalf("%s has %s of node %v", p.Name, placed.CPUs, node)
				}
			default:
				if each[h] == 0 {
					each[h] = len(placed.CPUs)
				}
				if len(placed.CPUs) != each[h] || each[h] == 0 {
					t.Fatalf("%s has %s, but others of its host %d CPUs", p.Name, placed.CPUs, each[h])
				}
				for _, core := range node.Cores {
					if slices.Contains(placed.CPUs, core[0]) != slices.Contains(placed.CPUs, core[1]) {
						t.Fatalf("%s has a part of core %s", p.Name, core)
					}
				}
				for _, cpu := range placed.CPUs {
					at := fmt.Sprint(h, " ", cpu)
					if users[at] != "" {
						t.Fatalf("%s and %s have CPU %d of host %d", users[at], p.Name, cpu, h)
					}
					users[at] = p.Name
				}
			}
		}
	})
}

func TestLay(t *testing.T) {
	device := func(i int) *int { return &i }
	unknown := hosts(1, 0, 0, 0)
	for name, c := range map[string]struct {
		hosts     []Host
		processes []Process
		affinity  Affinity
		cpus      string // CPUs of each process
		notes     []string
	}{
		"anywhere": {hosts(1, 2, 2, 0), processesOf(2, 0, 1, 0, false), Anywhere,
			"data - trainer0 - trainer1 - server0 -", nil},
		"nodes": {hosts(1, 2, 2, 0), processesOf(4, 0, 2, 0, true), OnNode,
			"data 0-1,4-5 trainer0 0-1,4-5 trainer0.hook 0-1,4-5 trainer1 0-1,4-5 trainer1.hook 0-1,4-5 trainer2 2-3,6-7 trainer2.hook 2-3,6-7 trainer3 2-3,6-7 trainer3.hook 2-3,6-7 server0 0-1,4-5 server1 2-3,6-7", nil},
		"cores": {hosts(1, 2, 4, 0), processesOf(4, 0, 0, 0, false), OnCores,
			"data 0-3,8-11 trainer0 0-1,8-9 trainer1 2-3,10-11 trainer2 4-5,12-13 trainer3 6-7,14-15", nil},
		"as on the fullest": {hosts(1, 2, 4, 0), processesOf(2, 0, 1, 0, false), OnCores,
			"data 0-3,8-11 trainer0 0-1,8-9 trainer1 4-5,12-13 server0 2-3,10-11", nil},
		"each host by its own": {hosts(2, 1, 2, 0), processesOf(2, 0, 2, 0, false), OnCores,
			"data 0-3 trainer0 0,2 trainer1 0,2 server0 1,3 server1 1,3", nil},
		"too few cores": {
			hosts(1, 1, 2, 0), processesOf(2, 0, 1, 0, false), OnCores,
			"data 0-3 trainer0 0-3 trainer1 0-3 server0 0-3",
			[]string{"NUMA node 0 of node1 has 2 cores for 3 trainers and servers: affinity is numa there, not core"},
		},
		"unknown CPUs": {
			unknown, processesOf(1, 0, 0, 0, false), OnNode, "data - trainer0 -",
			[]string{"node1 does not report its CPUs: affinity is none there, not numa"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := Lay(c.hosts, c.processes, Spread, c.affinity)
			if err != nil {
				t.Fatal(err)
			}
			var cpus []string
			for _, p := range l.Processes {
				list := "-"
				if p.Node != nil {
					list = p.CPUs.String()
				}
				cpus = append(cpus, p.Name, list)
			}
			if got := strings.Join(cpus, " "); got != c.cpus {
				t.Errorf("%s: got  %s\nwant %s", name, got, c.cpus)
			}
			if d := cmp.Diff(c.notes, l.Notes); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		})
	}
	l, err := Lay(hosts(2, 1, 2, 2), processesOf(1, 5, 1, 1, false), Spread, Anywhere)
	if err != nil {
		t.Fatal(err)
	}
	var devices []*int
	for _, p := range l.Processes {
		devices = append(devices, p.Device)
	}
	want := []*int{nil, nil, device(0), device(1), device(0), device(0), device(1), nil, device(1)}
	if d := cmp.Diff(want, devices); d != "" {
		t.Errorf("devices: %s", d)
	}
}

// This host has CPUs and memory.
func TestHere(t *testing.T) {
	h := Here("me", 3)
	if h.Name != "me" || h.GPUs != 3 || h.cores() == 0 || h.MemoryMiB == 0 {
		t.Errorf("this host is %+v", h)
	}
}
