// Package fabric is the table of transports, by name. No other package
// distinguishes transports. To add a transport, add a row with a network and a
// provider. A row has an optional ability if its provider implements the
// interface of that ability (package provider).
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

// Fabric is a transport. Its network connects the ranks, and its provider makes
// links from the connections.
type Fabric struct {
	Name    string
	Network *wire.Network
	provider.Provider
	// Within, if not nil, carries the links between ranks on the same host.
	// Between carries the other links, over Network.
	Within, Between *Fabric
}

var (
	// sharedMemory is the fastest transport between processes of one host.
	sharedMemory = &Fabric{Name: "shm", Network: wire.Unix, Provider: shared.Provider{}}
	// hostStreams sends frames between processes of one host.
	hostStreams = &Fabric{Name: "unix", Network: wire.Unix, Provider: stream.Provider{}}
	ipStreams   = &Fabric{Name: "tcp", Network: wire.TCP, Provider: stream.Provider{}}
	// byHost is the fastest transport between processes of several hosts.
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

// Extend adds a fabric to the table. Tests use it to run psbench over their own
// fabrics. Call it before opening any fabric.
func Extend(f *Fabric) { fabrics = append(fabrics, f) }

// Names lists the names of all fabrics.
func Names() []string {
	names := make([]string, len(fabrics))
	for i, f := range fabrics {
		names[i] = f.Name
	}
	return names
}

// Default returns the fastest fabric between processes of one host.
func Default() *Fabric { return sharedMemory }

// DefaultAcross returns the fastest fabric between processes of several hosts.
func DefaultAcross() *Fabric { return byHost }

// Open returns the fabric with this name.
func Open(name string) (*Fabric, error) {
	for _, f := range fabrics {
		if f.Name == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("there is no transport %q: it is one of %v", name, Names())
}

// OnOneHost reports whether the fabric can only join processes of one host.
func (f *Fabric) OnOneHost() bool { return !f.Network.OnIP() }

// Link returns the fabric that carries a link between two ranks. oneHost says
// whether they share a host. The result is f itself unless f combines two
// fabrics.
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

// Aggregates reports whether the provider is a provider.Aggregator.
func (f *Fabric) Aggregates() bool {
	_, ok := f.Provider.(provider.Aggregator)
	return ok
}

// by returns a copy of the fabric with another provider.
func (f *Fabric) by(p provider.Provider) *Fabric {
	g := *f
	g.Provider = p
	return &g
}

// InSegments returns the fabric with all stores in shared-memory segments,
// which a process without a link can map as well. InSegments returns f itself
// unless f's provider is a provider.Placer.
func (f *Fabric) InSegments() *Fabric {
	p, ok := f.Provider.(provider.Placer)
	if !ok {
		return f
	}
	return f.by(p.Placing(sharedMemory.NewStore))
}

// Insecure returns the fabric without TLS.
func (f *Fabric) Insecure() *Fabric {
	g := *f
	g.Network = f.Network.Insecure()
	return &g
}

// On returns the fabric with links that leave bucket values in the memory of
// device d, if both ends share the device. On returns f itself unless f's
// provider is a provider.Lender. With a nil device, no values stay in device
// memory.
func (f *Fabric) On(d comm.Device) *Fabric {
	p, ok := f.Provider.(provider.Lender)
	if !ok {
		return f
	}
	return f.by(p.On(d))
}

// Companions returns the fabric between processes that always share a host,
// such as a trainer and its companions. Companions returns f itself if f maps
// memory.
func (f *Fabric) Companions() *Fabric {
	if f.Maps() {
		return f
	}
	return hostStreams
}
