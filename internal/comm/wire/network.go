package wire

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/psbench/psbench/internal/stack"
)

// Network is a way for ranks to reach each other: a kind of socket, and the
// protocols between frames and socket. An address consists of the network's
// name, a colon and the place: "unix:/run/trainer0", "tcp:127.0.0.1:4711",
// "grpc:[::1]:4712".
type Network struct {
	name   string
	socket string // the kind's name in package net: unix or tcp
	// dialed and accepted, if not nil, raise the connections of the dialing and
	// the accepting side.
	dialed, accepted Raise
	insecure         bool // never uses TLS
}

// Raise puts a protocol on top of a connection, below the frames. The ranks
// have already greeted, so a stranger cannot make it use resources. Raise owns
// the connection and closes it after an error. Raise must return by the
// deadline.
type Raise func(nc net.Conn, deadline time.Time) (net.Conn, error)

// Unix uses sockets in the file system; its connections can pass descriptors.
// TCP uses ports of IP addresses. If other hosts can reach the address, every
// byte of a connection is inside TLS 1.3, with a key derived from the run's
// secret; on loopback connections are plain. Both sides decide by the address
// alone, so no one can persuade a side to go without TLS.
var (
	Unix = &Network{name: "unix", socket: "unix"}
	TCP  = &Network{name: "tcp", socket: "tcp"}
)

// Over returns a network on top of this one.
func (n *Network) Over(name string, dialed, accepted Raise) *Network {
	return &Network{name: name, socket: n.socket, dialed: dialed.forPsbench(), accepted: accepted.forPsbench(),
		insecure: n.insecure}
}

// forPsbench returns r, with the library's goroutines marked as psbench's,
// whichever part starts them. forPsbench returns nil for a nil r.
func (r Raise) forPsbench() Raise {
	if r == nil {
		return nil
	}
	return func(nc net.Conn, deadline time.Time) (raised net.Conn, err error) {
		stack.ForPsbench.Run(func() { raised, err = r(nc, deadline) })
		return raised, err
	}
}

// Insecure returns this network without TLS, to measure the cost of TLS. Anyone
// on the network between the hosts can then read and change the traffic.
func (n *Network) Insecure() *Network {
	if !n.OnIP() {
		return n
	}
	plain := *n
	plain.insecure = true
	return &plain
}

// Name is the name at the start of its addresses.
func (n *Network) Name() string { return n.name }

// OnIP reports whether the network listens on IP addresses. Otherwise it
// listens on socket paths.
func (n *Network) OnIP() bool { return n.socket == "tcp" }

// Has reports whether an address belongs to the network.
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

// listenAt returns the endpoint for listening: a socket path, or an IP address
// whose port the kernel chooses.
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

// CheckIP returns an error unless the address names one host, the same for
// every caller.
func CheckIP(ip netip.Addr) error {
	switch {
	case ip.Unmap().IsUnspecified():
		return fmt.Errorf("%s stands for all addresses of a host: it must be one of them", ip)
	case ip.Unmap().IsMulticast():
		return fmt.Errorf("%s is an address of many hosts: it must be of one", ip)
	case ip.Zone() != "":
		return fmt.Errorf("%s has a zone, which other hosts name differently: it must be an address without one", ip)
	}
	return nil
}
