package config

import (
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/comm/fabric"
)

// Transport is the key of the option that says what carries the gradients.
const Transport = "transport"

// Across is the experiment where its processes turn out to run on several hosts: one whose transport
// was left to psbench gets the fastest between hosts.
func (e *Experiment) Across() *Experiment {
	if !e.Auto {
		return e
	}
	a := *e
	a.Fabric, a.Values = fabric.DefaultAcross(), slices.Clone(e.Values)
	for i := range a.Values {
		if v := &a.Values[i]; v.Key == Transport {
			v.Value, v.Origin = a.Fabric.Name, derived+"the run is on several hosts"
		}
	}
	a.Warnings = slices.DeleteFunc(slices.Clone(e.Warnings), func(w string) bool {
		return strings.HasSuffix(w, listensNowhere(e.Fabric)) && a.Fabric.Network.OnIP()
	})
	if a.Group != "" {
		a.Group, a.NotNCCL = groupOver(a.Fabric), "the run is on several hosts"
	}
	return &a
}

// listensNowhere is why an address to listen on has no effect.
func listensNowhere(f *fabric.Fabric) string {
	return " has no effect: transport " + f.Name + " listens on no IP address"
}

// groupOver says what the trainers' group is where their buckets are staged.
func groupOver(f *fabric.Fabric) string { return "psbench's own, in host memory over " + f.Name }

// GroupByIPC is what the trainers' group is where they share their buckets on one device.
const GroupByIPC = "psbench's own, on the device by CUDA IPC"
