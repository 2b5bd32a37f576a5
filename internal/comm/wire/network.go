package wire

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/psbench/psbench/internal/stack"
)

// Network is how ranks reach each other: a kind of socket, and what their frames go
// through on it. An address on it is its name, a colon and the place:
// "unix:/run/trainer0", "tcp:127.0.0.1:4711", "grpc:[::1]:4712".
type Network struct {
	name   string
	socket string // what package net calls the kind: unix or tcp
	// dialed and accepted, unless they are nil, raise the connections of either side.
	dialed, accepted Raise
	insecure         bool // nothing is inside TLS
}

// Raise puts a protocol below the frames on top of a connection whose ranks have greeted. A
// stranger cannot make it spend resources. It owns the connection and closes it after an
// error; it must return by the deadline.
type Raise func(nc net.Conn, deadline time.Time) (net.Conn, error)

// Unix has sockets in the file system; its connections can pass descriptors. TCP has
// ports of IP addresses. On one that other hosts reach, every byte of a connection is
// inside TLS 1.3, by a key that follows from the run's secret; on loopback it is plain.
// Both sides see it by the address, so that neither can be talked out of it.
var (
	Unix = &Network{name: "unix", socket: "unix"}
	TCP  = &Network{name: "tcp", socket: "tcp"}
)

// Over is a network on top of this one.
func (n *Network) Over(name string, dialed, accepted Raise) *Network {
	return &Network{name: name, socket: n.socket, dialed: dialed.forPsbench(), accepted: accepted.forPsbench(),
		insecure: n.insecure}
}

// forPsbench returns r with its library's goroutines marked as psbench's, whichever part's call starts them; nil for
// a nil r.
func (r Raise) forPsbench() Raise {
	if r == nil {
		return nil
	}
	return func(nc net.Conn, deadline time.Time) (raised net.Conn, err error) {
		stack.ForPsbench.Run(func() { raised, err = r(nc, deadline) })
		return raised, err
	}
}

// Insecure is this network without TLS, to measure the cost of TLS: anyone on the network
// between the hosts can read and change the traffic.
func (n *Network) Insecure() *Network {
	if !n.OnIP() {
		return n
	}
	plain := *n
	plain.insecure = true
	return &plain
}

// Name is the name that its addresses start with.
func (n *Network) Name() string { return n.name }

// OnIP says that it listens on IP addresses; else on paths of sockets.
func (n *Network) OnIP() bool { return n.socket == "tcp" }

// Has says that an address is one of the network.
func (n *Network) Has(address string) bool { return strings.HasPrefix(address, n.name+":") }

// parse reads and checks the text of an address.
func (n *Network) parse(text string) (e endpoint, err error) {
	place, ok := strings.CutPrefix(text, n.name+":")
	if !ok {
		return e, fmt.Errorf("the address %q is not one of network %s: %s: must come first", text, n.name, n.name)
	}
	e.network = n
	if !n.OnIP() {
		e.path = place
		return e, checkSocketPath(place)
	}
	if e.host, err = netip.ParseAddrPort(place); err != nil || e.host.Port() == 0 || e.String() != text {
		return e, fmt.Errorf("the address %q has no IP address and port after %s:, as in %s:127.0.0.1:4711", text,
			n.name, n.name)
	}
	return e, CheckIP(e.host.Addr())
}

// listenAt is where to listen: the path of a socket, or an IP address where the kernel
// finds a port.
func (n *Network) listenAt(address string) (e endpoint, err error) {
	if !n.OnIP() {
		return endpoint{network: n, path: address}, checkSocketPath(address)
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return e, fmt.Errorf("%s listens on an IP address, and %q is none", n.name, address)
	}
	return endpoint{network: n, host: netip.AddrPortFrom(ip, 0)}, CheckIP(ip)
}

// CheckIP reports an address that does not name one host, the same one for every caller.
func CheckIP(ip netip.Addr) error {
	switch {
	case ip.Unmap().IsUnspecified():
		return fmt.Errorf("%s stands for all addresses of a host: it must be one of them", ip)
	case ip.Unmap().IsMulticast():
		return fmt.Errorf("%s is an address of many hosts: it must be of one", ip)
	case ip.Zone() != "":
		return fmt.Errorf("%s has a zone, which other hosts call otherwise: it must be an address without one", ip)
	}
	return nil
}
