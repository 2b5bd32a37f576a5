package config

import (
	"slices"
	"testing"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/comm/fabric"
)

// If the user left the transport to psbench, it depends on the hosts. A transport that the user chose stays.
func TestAcross(t *testing.T) {
	e := &Experiment{
		Fabric: fabric.Default(), Auto: true, Group: groupOver(fabric.Default()),
		Warnings: []string{"--interface has no effect: transport shm listens on no IP address", "something else"},
		Values: []result.Value{{Key: "ntrainer", Value: 4},
			{Key: "transport", Value: "shm", Origin: "derived: everything runs on one host"}},
	}
	a := e.Across()
	if a.Fabric != fabric.DefaultAcross() || a.Group != "psbench's own, in host memory over shm+tcp" ||
		a.Values[1] != (result.Value{Key: "transport", Value: "shm+tcp",
			Origin: "derived: the run is on several hosts"}) ||
		a.Values[0] != e.Values[0] {
		t.Errorf("across hosts it is %+v", a)
	}
	if !slices.Equal(a.Warnings, []string{"something else"}) {
		t.Errorf("the warnings are %q", a.Warnings)
	}
	if !e.GroupSpans() || a.GroupSpans() || a.NotNCCL != "the run is on several hosts" {
		t.Errorf("that a library is the group is %v, and across hosts %v: %s", e.GroupSpans(), a.GroupSpans(),
			a.NotNCCL)
	}
	if e.Fabric != fabric.Default() || e.Values[1].Value != "shm" {
		t.Errorf("on one host it is %+v", e)
	}
	e.Auto = false
	if e.Across() != e {
		t.Error("what the user chose is replaced")
	}
}
