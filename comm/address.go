package comm

import (
	"fmt"
	"net/netip"
	"strings"
)

// maxSocketPath is what the kernel takes for the path of a socket.
const maxSocketPath = 107

// endpoint is where a Listener is to be found. Its text is the network, a colon
// and the place: "unix:/run/trainer0", "tcp:127.0.0.1:4711", "grpc:[::1]:4712".
type endpoint struct {
	network Transport // Unix, TCP or GRPC
	path    string    // of a Unix socket
	host    netip.AddrPort
}

func (e endpoint) String() string { return string(e.network) + ":" + e.place() }

// dialect is what package net calls the network, place what it calls the place.
func (e endpoint) dialect() string {
	if e.network == Unix {
		return "unix"
	}
	return "tcp"
}

func (e endpoint) place() string {
	if e.network == Unix {
		return e.path
	}
	return e.host.String()
}

// parseEndpoint reads the text of an endpoint. Ports and paths are checked,
// hosts must be loopback.
func parseEndpoint(text string) (e endpoint, err error) {
	network, place, _ := strings.Cut(text, ":")
	e.network = Transport(network)
	switch e.network {
	case Unix:
		e.path = place
		return e, checkSocketPath(place)
	case TCP, GRPC:
		if e.host, err = netip.ParseAddrPort(place); err != nil || e.host.Port() == 0 || e.String() != text {
			return e, fmt.Errorf("the address %q has no IP address and port after %s:, as in %s:127.0.0.1:4711", text, network, network)
		}
		return e, checkLoopback(e.network, "dials", e.host.Addr())
	}
	return e, fmt.Errorf("the address %q does not name its network: unix:, tcp: or grpc: must come first", text)
}

// listenEndpoint is where to listen: address is the path of a socket for Shm and
// Unix, a loopback IP address for TCP and GRPC, where the kernel finds a port.
func listenEndpoint(network Transport, address string) (e endpoint, err error) {
	switch network {
	case Shm, Unix:
		return endpoint{network: Unix, path: address}, checkSocketPath(address)
	case TCP, GRPC:
		ip, err := netip.ParseAddr(address)
		if err != nil {
			return e, fmt.Errorf("%s listens on an IP address, and %q is none", network, address)
		}
		return endpoint{network: network, host: netip.AddrPortFrom(ip, 0)}, checkLoopback(network, "listens on", ip)
	}
	return e, CheckTransport(string(network))
}

// checkSocketPath reports whether the kernel takes path for a socket. A leading
// @ would mean a socket outside the file system, open to every user.
func checkSocketPath(path string) error {
	switch {
	case path == "" || path[0] == '@' || strings.ContainsRune(path, 0):
		return fmt.Errorf("%q is no path of a socket", path)
	case len(path) > maxSocketPath:
		return fmt.Errorf("the socket path %s has %d bytes, more than the kernel's limit of %d", path, len(path), maxSocketPath)
	}
	return nil
}

// checkLoopback refuses what other hosts can reach: frames are not encrypted.
func checkLoopback(network Transport, does string, ip netip.Addr) error {
	if !ip.Unmap().IsLoopback() {
		return fmt.Errorf("%s %s loopback addresses only, and %s is none: links between hosts wait for transport security", network, does, ip)
	}
	return nil
}
