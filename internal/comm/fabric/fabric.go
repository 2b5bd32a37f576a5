// Package fabric is the table of transports, by name, and the only place that distinguishes
// them. A new transport is a row of the table: a network and a provider. A row has an optional
// ability if its provider implements the interface for it (package provider).
package fabric

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/mixed"
	"github.com/psbench/psbench/internal/comm/provider"
	"github.com/psbench/psbench/internal/comm/shared"
	"github.com/psbench/psbench/internal/comm/stream"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/comm/wire/grpc"
)

// Fabric is a transport: a network over which ranks reach each other, and a provider that
// makes links of its connections.
type Fabric struct {
	Name    string
	Network *wire.Network
	provider.Provider
	// Within, unless it is nil, carries the links of ranks that share a host. Between then
	// carries the others, over Network.
	Within, Between *Fabric
}

var (
	// sharedMemory is the fastest between processes of one host.
	sharedMemory = &Fabric{Name: "shm", Network: wire.Unix, Provider: shared.Provider{}}
	// hostStreams joins processes of one host, whatever their links are.
	hostStreams = &Fabric{Name: "unix", Network: wire.Unix, Provider: stream.Provider{}}
	ipStreams   = &Fabric{Name: "tcp", Network: wire.TCP, Provider: stream.Provider{}}
	// byHost is the fastest between processes of several hosts.
	byHost = &Fabric{
		Name: "shm+tcp", Network: wire.TCP, Provider: mixed.Provider{}, Within: sharedMemory, Between: ipStreams,
	}
)

// fabrics lists the transports in display order.
var fabrics = []*Fabric{
	sharedMemory,
	hostStreams,
	ipStreams,
	{Name: "grpc", Network: grpc.Network, Provider: stream.Provider{}},
	byHost,
}

// Extend adds a fabric before anything is opened: tests run psbench over fabrics of
// their own.
func Extend(f *Fabric) { fabrics = append(fabrics, f) }

// Names lists the names of all fabrics.
func Names() []string {
	names := make([]string, len(fabrics))
	for i, f := range fabrics {
		names[i] = f.Name
	}
	return names
}

// Default is the fastest between processes of one host.
func Default() *Fabric { return sharedMemory }

// DefaultAcross is the fastest between processes of several hosts.
func DefaultAcross() *Fabric { return byHost }

// Open is the fabric of a name.
func Open(name string) (*Fabric, error) {
	for _, f := range fabrics {
		if f.Name == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("there is no transport %q: it is one of %v", name, Names())
}

// OnOneHost says that it joins processes of one host alone.
func (f *Fabric) OnOneHost() bool { return !f.Network.OnIP() }

// Link is what carries the link of two ranks, which share a host or do not: this one, unless it is
// made of two.
func (f *Fabric) Link(oneHost bool) *Fabric {
	switch {
	case f.Within == nil:
		return f
	case oneHost:
		return f.Within
	default:
		return f.Between
	}
}

// Aggregates says that its provider is a provider.Aggregator.
func (f *Fabric) Aggregates() bool {
	_, ok := f.Provider.(provider.Aggregator)
	return ok
}

// by is this fabric with another provider.
func (f *Fabric) by(p provider.Provider) *Fabric {
	g := *f
	g.Provider = p
	return &g
}

// InSegments is this fabric with all stores in segments, which can be passed to a process without a
// link. It is f itself unless f's provider is a provider.Placer.
func (f *Fabric) InSegments() *Fabric {
	p, ok := f.Provider.(provider.Placer)
	if !ok {
		return f
	}
	return f.by(p.Placing(sharedMemory.NewStore))
}

// Insecure is this fabric without TLS.
func (f *Fabric) Insecure() *Fabric {
	g := *f
	g.Network = f.Network.Insecure()
	return &g
}

// On is the fabric whose links leave the values of buckets in the memory of a device, where both ends
// share that: this one unless its provider is a provider.Lender. A nil device has them leave none there.
func (f *Fabric) On(d comm.Device) *Fabric {
	p, ok := f.Provider.(provider.Lender)
	if !ok {
		return f
	}
	return f.by(p.On(d))
}

// Companions is the fabric that joins processes which always share a host, as a trainer
// and its companions do: this one if it maps memory.
func (f *Fabric) Companions() *Fabric {
	if f.Maps() {
		return f
	}
	return hostStreams
}
