package config

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/sdk"
)

// Transport is the key of the option that selects the transport of the gradients.
const Transport = "transport"

// Across returns the experiment for a run over several hosts. If the user left the transport to psbench, Across selects
// the transport that is fastest between hosts.
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

// listensNowhere returns why an address to listen on has no effect with a transport.
func listensNowhere(f *fabric.Fabric) string {
	return " has no effect: transport " + f.Name + " listens on no IP address"
}

// groupOver returns the name of the trainers' group if their buckets are staged in host memory.
func groupOver(f *fabric.Fabric) string { return "psbench's own, in host memory over " + f.Name }

// GroupByIPC is the name of the trainers' group if the trainers share their buckets on one device.
const GroupByIPC = "psbench's own, on the device by CUDA IPC"

// aggregateHost is the value of the option aggregate with which the trainers of a host push as one.
const aggregateHost = "host"

// checkAggregate returns an error if the server does not accept sums of gradients or the links cannot carry them.
// Whether the run has several hosts is checked later, when their places are known.
func (r *resolver) checkAggregate(context.Context) error {
	r.exp.Aggregate = r.Aggregate == aggregateHost
	server := r.exp.Parts[sdk.KindServer]
	name := r.name("aggregate") + " is " + aggregateHost
	switch f := r.exp.Fabric; {
	case !r.exp.Aggregate:
		return nil
	case r.servers() == 0:
		return fmt.Errorf("%s but there is no server to push to: give --nserver 1 or more, or leave it out", name)
	case !server.Elementwise:
		return fmt.Errorf("%s but server %s is not elementwise: it takes the gradients of each trainer, not their sum",
			name, server.Key)
	case !server.Adds:
		return fmt.Errorf("%s but server %s does not say that it adds gradients up (sdk.Adding): it may treat a sum differently from its parts",
			name, server.Key)
	case !r.exp.Auto && !f.Aggregates():
		return fmt.Errorf("%s but transport %s cannot: it needs %s, on which the trainers of a host share memory",
			name, f.Name, fabric.DefaultAcross().Name)
	}
	return nil
}
