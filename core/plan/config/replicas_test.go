package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// Trainers that exchange gradients must end with equal parameters, per server, unless a part declares that they may
// differ. If servers combine gradients as they arrive, losses depend on the order of arrival.
func TestReplicasAndTheOrderOfArrival(t *testing.T) {
	for flags, want := range map[string]struct {
		sets   [][]int
		differ string
		order  string
	}{
		"--ntrainer 2": {[][]int{{0, 1}}, "", ""},
		"--ntrainer 3": {[][]int{{0, 1, 2}}, "",
			"server average combines gradients as they arrive"},
		"--ntrainer 3 --server average_batch":                                     {[][]int{{0, 1, 2}}, "", ""},
		"--ntrainer 4 --nserver 2":                                                {[][]int{{0, 1}, {2, 3}}, "", ""},
		"--ntrainer 3 --nserver 0":                                                {[][]int{{0, 1, 2}}, "", ""},
		"--ntrainer 3 --ddp-hook allreduce":                                       {[][]int{{0, 1, 2}}, "", ""},
		"--ntrainer 4 --nserver 2 --ddp-hook sparse_rpc --model DummyModelSparse": {[][]int{{0, 1}, {2, 3}}, "", ""},
		"--ntrainer 2 --nserver 0 --ddp-hook noop": {[][]int{{0}, {1}},
			"hook noop uses no link", ""},
		"--trainer batch_update --server batch_update": {[][]int{{0, 1, 2}}, "", ""},
		"--trainer hybrid --ntrainer 2": {[][]int{{0, 1}}, "",
			"server embedding applies updates of its tables as they arrive"},
		"--trainer hybrid --ntrainer 1": {[][]int{{0}}, "", ""},
	} {
		t.Run(fmt.Sprintf("%.60s", flags), func(t *testing.T) {
			e, err := resolve(t, nil, strings.Fields(flags))
			if err != nil {
				t.Errorf("%s: %v", flags, err)
				return
			}
			most := 0
			for _, s := range e.World.ServerRanks() {
				most = max(most, len(e.World.TrainersOf(s)))
			}
			sets, differ := e.Replicas()
			if d := cmp.Diff(want.sets, sets); d != "" || differ != want.differ || e.ArrivalOrder(most) != want.order {
				t.Errorf("%s: differ %q, order %q, sets %s", flags, differ, e.ArrivalOrder(most), d)
			}
			for _, kind := range []sdk.Kind{sdk.KindHook, sdk.KindTrainer, sdk.KindModel} {
				part := e.Parts[kind]
				declared := part
				declared.RanksDiffer = true
				e.Parts[kind] = declared
				if sets, differ := e.Replicas(); differ == "" || len(sets) != len(e.World.TrainerRanks()) {
					t.Errorf("%s, %s %s is declared: differ %q, sets %v", flags, kind, part.Key, differ, sets)
				}
				e.Parts[kind] = part
			}
		})
	}
	e, err := resolve(t, nil, []string{"--trainer", "batch_update", "--server", "batch_update"})
	if err != nil {
		t.Fatal(err)
	}
	server := e.Parts[sdk.KindServer]
	server.RanksDiffer = true
	e.Parts[sdk.KindServer] = server
	if _, differ := e.Replicas(); differ != "server batch_update is declared so" {
		t.Errorf("of a declared server: differ %q", differ)
	}
	hook := e.Links
	e.Links = registry.Links{Group: true}
	if _, differ := e.Replicas(); differ != "" {
		t.Errorf("of a declared server that the hook does not use: differ %q", differ)
	}
	e.Links, server.Asynchronous = hook, true
	e.Parts[sdk.KindServer] = server
	const want = "server batch_update answers before all of its trainers have pushed"
	if sets, differ := e.Replicas(); differ != want || e.ArrivalOrder(3) != want || len(sets) != 3 {
		t.Errorf("of a server that does not wait: differ %q, order %q, sets %v", differ, e.ArrivalOrder(3), sets)
	}
}
