package wire

import (
	"fmt"
	"net/netip"
	"strings"
)

// maxSocketPath is what the kernel takes for the path of a socket.
const maxSocketPath = 107

// endpoint is where a Listener is to be found.
type endpoint struct {
	network *Network
	path    string // of a Unix socket
	host    netip.AddrPort
}

func (e endpoint) String() string { return e.network.name + ":" + e.place() }

// place is what package net calls the place.
func (e endpoint) place() string {
	if e.network.OnIP() {
		return e.host.String()
	}
	return e.path
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
