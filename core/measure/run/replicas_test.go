package run

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// psbench warns if trainers of a server end with different parameters than the server's first trainer. The warning
// names the first such parameter. There is no warning if a trainer reports no checksums.
func TestReplicas(t *testing.T) {
	sets, apart := [][]int{{0, 1}, {2, 3}}, [][]int{{0}, {1}, {2}, {3}}
	for name, c := range map[string]struct {
		links     registry.Links
		checksums [][]uint32
		want      *result.Replicas
		warning   string
	}{
		"equal": {registry.Links{Server: true}, [][]uint32{{1, 2}, {1, 2}, {3, 4}, {3, 4}},
			&result.Replicas{Sets: sets}, ""},
		"not told": {registry.Links{Server: true}, [][]uint32{{1, 2}, {1, 3}, nil, {3, 4}}, nil, ""},
		"by a group": {registry.Links{Group: true}, [][]uint32{{1}, {1}, {1}, {1}},
			&result.Replicas{Sets: [][]int{{0, 1, 2, 3}}}, ""},
		"without any": {registry.Links{}, [][]uint32{{1}, {2}, {3}, {4}},
			&result.Replicas{Sets: apart, MayDiffer: "hook h uses no link"}, ""},
		"unequal": {
			registry.Links{Server: true}, [][]uint32{{1, 2}, {1, 2}, {3, 4}, {3, 5}},
			&result.Replicas{Sets: sets,
				Unequal: []result.UnequalReplica{{Rank: 3, From: 2, Parameters: 1, Of: 2, Parameter: "b"}}},
			"the replicas ended unequal: 1 of 2 parameters of trainer3, first b, differ from those of trainer2, though hook h exchanges",
		},
		"more of them": {
			registry.Links{Group: true}, [][]uint32{{1, 2}, {7, 8}, {1, 2}, {3, 4}},
			&result.Replicas{Sets: [][]int{{0, 1, 2, 3}}, Unequal: []result.UnequalReplica{
				{Rank: 1, From: 0, Parameters: 2, Of: 2, Parameter: "a"},
				{Rank: 3, From: 0, Parameters: 2, Of: 2, Parameter: "a"},
			}},
			"2 of 2 parameters of trainer1, first a, differ from those of trainer0 (so do those of 1 other trainer), though",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := laidOut(&run{e: experiment(4, 2, c.links)})
			r.result = newResult(r.e, Options{})
			hook := r.e.Parts[sdk.KindHook]
			hook.Key = "h"
			r.e.Parts[sdk.KindHook] = hook
			r.model = layout.Model{Parameters: []sdk.ParameterSpec{{Name: "a"}, {Name: "b"}}}
			for i, sums := range c.checksums {
				if sums != nil {
					r.processes.trainers[i].collected.take(&record.Replica{Checksums: sums})
				}
			}
			found := r.replicas()
			if d := cmp.Diff(c.want, found); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			r.warnReplicas(found)
			warned := slices.ContainsFunc(r.result.Warnings,
				func(w string) bool { return c.warning != "" && strings.Contains(w, c.warning) })
			if warned != (c.warning != "") || len(r.result.Warnings) > 1 ||
				c.warning == "" && len(r.result.Warnings) > 0 {
				t.Errorf("%s: warned %q", name, r.result.Warnings)
			}
		})
	}
}
