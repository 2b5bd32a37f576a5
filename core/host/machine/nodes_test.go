package machine

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNodes(t *testing.T) {
	siblings := map[string]string{"cpu0": "0,4", "cpu1": "1,5", "cpu2": "2,6", "cpu3": "3,7", "cpu4": "0,4",
		"cpu5": "1,5"}
	two := map[string]string{"node0": "0-1,4-5", "node1": "2-3,6-7"}
	for name, c := range map[string]struct {
		allowed string
		nodes   map[string]string
		want    []Node
	}{
		"two nodes of two cores": {"0-7", two, []Node{{0, []CPUs{{0, 4}, {1, 5}}}, {1, []CPUs{{2, 6}, {3, 7}}}}},
		"a cpuset":               {"1,3-4", two, []Node{{0, []CPUs{{1}, {4}}}, {1, []CPUs{{3}}}}},
		"a node of another set":  {"2", two, []Node{{1, []CPUs{{2}}}}},
		"no nodes":               {"0-1,4", nil, []Node{{0, []CPUs{{0, 4}, {1}}}}},
		"a CPU of no node":       {"0,2,9", two, []Node{{0, []CPUs{{0}, {9}}}, {1, []CPUs{{2}}}}},
		"order of numbers": {"0-1", map[string]string{"node10": "0", "node2": "1"},
			[]Node{{2, []CPUs{{1}}}, {10, []CPUs{{0}}}}},
		"a node of memory alone": {"0", map[string]string{"node0": "0", "node1": ""}, []Node{{0, []CPUs{{0}}}}},
		"a CPU of two nodes":     {"0", map[string]string{"node0": "0", "node1": "0"}, []Node{{0, []CPUs{{0}}}}},
		"nothing":                {"", two, nil},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{"proc/self/status": {Data: []byte("Cpus_allowed_list:\t" + c.allowed + "\n")}}
			for node, list := range c.nodes {
				root["sys/devices/system/node/"+node+"/cpulist"] = &fstest.MapFile{Data: []byte(list + "\n")}
			}
			for cpu, list := range siblings {
				root[cpuFolder+"/"+cpu+"/topology/thread_siblings_list"] = &fstest.MapFile{Data: []byte(list + "\n")}
			}
			if d := cmp.Diff(c.want, nodes(root)); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		})
	}
}

// The CPUs of this machine's nodes are exactly the CPUs on which this process may run.
func TestNodesOfThisMachine(t *testing.T) {
	var all CPUs
	for _, n := range Nodes() {
		all = append(all, n.CPUs()...)
	}
	slices.Sort(all)
	if got, want := all.String(), Read(nil).Affinity; got != want || got == "" {
		t.Errorf("nodes have the CPUs %q, but this process may run on %q", got, want)
	}
}

// A list of CPUs that is formatted and parsed stays the same.
func TestCPUsAsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cpus := CPUs(rapid.SliceOfNDistinct(rapid.IntRange(0, 40), 0, 20, rapid.ID).Draw(t, "CPUs"))
		slices.Sort(cpus)
		text, err := cpus.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back CPUs
		if err := back.UnmarshalText(text); err != nil || !slices.Equal(back, cpus) {
			t.Errorf("%v is %s, and that is %v (%v)", []int(cpus), text, []int(back), err)
		}
	})
	if got := (CPUs{0, 1, 2, 4, 6, 7}).String(); got != "0-2,4,6-7" {
		t.Errorf("written as %s", got)
	}
	if err := new(CPUs).UnmarshalText([]byte("3-1")); err == nil ||
		err.Error() != `"3-1" is no list of CPUs, as in 0-3,8` {
		t.Errorf("a list that is none: %v", err)
	}
}
