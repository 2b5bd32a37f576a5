package wire

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"

	"github.com/psbench/psbench/internal/identity"
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

// onHost says that only this host reaches the place.
func (e endpoint) onHost() bool { return !e.network.OnIP() || e.host.Addr().Unmap().IsLoopback() }

// keys are how ranks prove at a place that they know the run's secret.
type keys struct {
	tls *identity.Identity // nil: there is no TLS
	// hello is what a hello shows: the secret, but where the network would read it a key
	// from which nothing follows of what else the secret protects.
	hello [SecretSize]byte
}

func (e endpoint) keys(secret [SecretSize]byte) (k keys, err error) {
	k.hello = secret
	switch {
	case e.onHost():
	case e.network.insecure:
		var key []byte
		if key, err = hkdf.Key(sha256.New, secret[:], nil, "psbench insecure hello", SecretSize); err == nil {
			k.hello = [SecretSize]byte(key)
		}
	default:
		k.tls, err = identity.Of(secret[:], "links")
	}
	return k, err
}

// checkSocketPath reports whether the kernel takes path for a socket. A leading
// @ would mean a socket outside the file system, open to every user.
func checkSocketPath(path string) error {
	switch {
	case path == "" || path[0] == '@' || strings.ContainsRune(path, 0):
		return fmt.Errorf("%q is no path of a socket", path)
	case len(path) > maxSocketPath:
		return fmt.Errorf("the socket path %s has %d bytes, more than the kernel's limit of %d", path, len(path),
			maxSocketPath)
	}
	return nil
}
