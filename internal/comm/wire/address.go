package wire

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"

	"github.com/psbench/psbench/internal/identity"
)

// maxSocketPath is the kernel's limit for the path of a socket, in bytes.
const maxSocketPath = 107

// endpoint is the location of a Listener.
type endpoint struct {
	network *Network
	path    string // of a Unix socket
	host    netip.AddrPort
}

func (e endpoint) String() string { return e.network.name + ":" + e.place() }

// place returns the address in the form that package net expects.
func (e endpoint) place() string {
	if e.network.OnIP() {
		return e.host.String()
	}
	return e.path
}

// onHost reports whether only this host can reach the endpoint.
func (e endpoint) onHost() bool { return !e.network.OnIP() || e.host.Addr().Unmap().IsLoopback() }

// keys prove that a rank knows the run's secret. The keys depend on the
// endpoint.
type keys struct {
	tls *identity.Identity // nil if TLS is not used
	// hello is the proof in a hello. hello is the secret itself unless the
	// network could read it. Otherwise hello is a derived key that reveals
	// nothing else that the secret protects.
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

// checkSocketPath returns an error unless the kernel accepts path for a socket.
// A leading @ would mean a socket outside the file system, which every user can
// open.
func checkSocketPath(path string) error {
	switch {
	case path == "" || path[0] == '@' || strings.ContainsRune(path, 0):
		return fmt.Errorf("%q is not the path of a socket", path)
	case len(path) > maxSocketPath:
		return fmt.Errorf("the socket path %s has %d bytes, more than the kernel's limit of %d", path, len(path),
			maxSocketPath)
	}
	return nil
}
