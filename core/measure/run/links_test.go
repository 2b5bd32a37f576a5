package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/record/result"
)

// The result lists each link once, by its transport, with the processes that join it. If the transport has only one
// kind of link, the result lists no links.
func TestLinksOfARun(t *testing.T) {
	node := cluster.Site{Host: "node7"}
	elsewhere := map[string]cluster.Site{"trainer2": node, "trainer2.hook": node, "server3": node}
	pushes := []result.Links{
		{Transport: "shm", Pairs: [][2]string{{"trainer2.hook", "server3"}}},
		{Transport: "tcp", Pairs: [][2]string{{"trainer0.hook", "server3"}, {"trainer1.hook", "server3"}}},
	}
	members := []result.Links{
		{Transport: "shm", Pairs: [][2]string{{"trainer0.hook", "trainer1.hook"}}},
		{Transport: "tcp", Pairs: [][2]string{{"trainer0.hook", "trainer2.hook"}}},
	}
	lookups := []result.Links{
		{Transport: "shm", Pairs: [][2]string{{"trainer2", "server3"}}},
		{Transport: "tcp", Pairs: [][2]string{{"trainer0", "server3"}, {"trainer1", "server3"}}},
	}
	here := []result.Links{{Transport: "shm",
		Pairs: [][2]string{{"trainer0.hook", "server3"}, {"trainer1.hook", "server3"}, {"trainer2.hook", "server3"}}}}
	for name, c := range map[string]struct {
		transport string
		links     registry.Links
		tables    bool
		elsewhere map[string]cluster.Site
		want      []result.Links
	}{
		"one kind":     {"tcp", registry.Links{Server: true}, false, elsewhere, nil},
		"one host":     {"shm+tcp", registry.Links{Server: true}, false, nil, here},
		"pushes":       {"shm+tcp", registry.Links{Server: true}, false, elsewhere, pushes},
		"a group":      {"shm+tcp", registry.Links{Group: true}, false, elsewhere, members},
		"the same one": {"shm+tcp", registry.Links{Group: true, Default: true}, false, elsewhere, members},
		"tables":       {"shm+tcp", registry.Links{}, true, elsewhere, lookups},
	} {
		t.Run(name, func(t *testing.T) {
			r := spread(t, c.transport, c.elsewhere)
			r.e.Links = c.links
			if c.tables {
				tables(r)
			}
			if d := cmp.Diff(c.want, r.links()); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		})
	}
}
