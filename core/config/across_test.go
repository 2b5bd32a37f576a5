package config

import (
	"slices"
	"testing"

	"github.com/psbench/psbench/comm/fabric"
	"github.com/psbench/psbench/core/result"
)

// A transport that was left to psbench follows the hosts; one that the user chose stays.
func TestAcross(t *testing.T) {
	e := &Experiment{
		Fabric: fabric.Default(), Auto: true, Group: groupOver(fabric.Default()), GroupSpans: true,
		Warnings: []string{"--interface has no effect: transport shm listens on no IP address", "something else"},
		Values:   []result.Value{{Key: "ntrainer", Value: 4}, {Key: "transport", Value: "shm", Origin: "derived: everything runs on one host"}},
	}
	a := e.Across()
	if a.Fabric != fabric.DefaultAcross() || a.Group != "psbench's own, over shm+tcp" || a.Values[1] != (result.Value{Key: "transport", Value: "shm+tcp", Origin: "derived: the run is on several hosts"}) || a.Values[0] != e.Values[0] {
		t.Errorf("across hosts it is %+v", a)
	}
	want := []string{"something else", "the trainers' group is psbench's own, not NCCL's: the run is on several hosts"}
	if !slices.Equal(a.Warnings, want) || a.GroupSpans {
		t.Errorf("the warnings are %q, and that a library is the group is %v", a.Warnings, a.GroupSpans)
	}
	if e.Fabric != fabric.Default() || e.Values[1].Value != "shm" {
		t.Errorf("on one host it is %+v", e)
	}
	e.Auto = false
	if e.Across() != e {
		t.Error("what the user chose is replaced")
	}
}
