package run

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/host/record"
)

// If the backend is NCCL, the result names the implementation of the trainers' group. A warning gives the reason if
// that is not NCCL.
func TestNameGroup(t *testing.T) {
	const host, refused = "psbench's own, in host memory over shm", "NCCL refuses two ranks of one card"
	shared, left, library := record.BucketsShared, record.BucketsLeft, "NCCL 2.21.5"
	for name, c := range map[string]struct {
		group, notNCCL string
		buckets        [2]string // FactBuckets of each trainer
		library        string
		want, warning  string
	}{
		"gloo":               {"", "", [2]string{shared, shared}, "", "", ""},
		"cards of their own": {host, "", [2]string{left, left}, library, library, ""},
		"one card": {host, refused, [2]string{shared, shared}, "", config.GroupByIPC,
			"the trainers' group is not NCCL's but psbench's own, on the device by CUDA IPC: " + refused},
		"more ranks than cards": {host, refused, [2]string{shared, "staged: they are apart"}, "", host,
			"the trainers' group is not NCCL's but " + host + ": " + refused +
				", and the buckets of trainer1 are staged: they are apart"},
		"links that are checked": {host, "", [2]string{"staged: checked", "staged: checked"}, "", host,
			"the trainers' group is not NCCL's but " + host + ": the buckets of trainer0 are staged: checked"},
		"a device that Go can touch": {host, refused, [2]string{}, "", host,
			"the trainers' group is not NCCL's but " + host + ": " + refused +
				", and the buckets of trainer0 are in host memory"},
	} {
		t.Run(name, func(t *testing.T) {
			e := experiment(2, 0, registry.Links{Group: true})
			e.Group, e.NotNCCL = c.group, c.notNCCL
			r := laidOut(&run{e: e})
			r.result = newResult(e, Options{})
			for i, p := range r.processes.trainers {
				p.facts = map[string]string{record.FactBuckets: c.buckets[i], record.FactGroup: c.library}
			}
			r.nameGroup()
			if d := cmp.Diff(c.want, r.result.Group) + cmp.Diff(c.warning,
				strings.Join(r.result.Warnings, "; ")); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		})
	}
}
