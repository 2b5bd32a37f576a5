// Package identity authenticates the processes of one run across hosts by a shared secret. Each process derives the
// same key from the secret, presents a certificate for that key in TLS 1.3, and accepts no other key. So a process
// without the secret can neither read nor send anything.
package identity

import (
	"crypto"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// MinimumSecret is the minimum length of a secret in bytes.
const MinimumSecret = 16

// Identity is the key derived from a secret, with a certificate.
type Identity struct {
	public      ed25519.PublicKey
	certificate tls.Certificate
}

// Of derives the identity for a purpose from a secret. Of uses HKDF with SHA-256 (RFC 5869), so that one purpose's
// key reveals nothing about another's. The certificate has no names and practically never expires, because no peer
// checks either.
func Of(secret []byte, purpose string) (*Identity, error) {
	if len(secret) < MinimumSecret {
		return nil, fmt.Errorf("a secret of %d bytes is too short: it must have %d at least", len(secret),
			MinimumSecret)
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, "psbench "+purpose, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	key := ed25519.NewKeyFromSeed(seed)
	public := key.Public().(ed25519.PublicKey)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "psbench"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(nil, template, template, public, crypto.Signer(key))
	if err != nil {
		return nil, err
	}
	return &Identity{public, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, nil
}

// Server returns the configuration for the listening side.
func (i *Identity) Server() *tls.Config { return i.config() }

// Client returns the configuration for the dialing side.
func (i *Identity) Client() *tls.Config { return i.config() }

// config checks only the peer's key, because certificates are self-signed. config disables session resumption, so
// that every connection is checked completely.
func (i *Identity) config() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{i.certificate},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // #nosec G402 -- VerifyConnection compares the key itself
		VerifyConnection:       i.check,
		SessionTicketsDisabled: true,
	}
}

func (i *Identity) check(state tls.ConnectionState) error {
	if len(state.PeerCertificates) > 0 && i.public.Equal(state.PeerCertificates[0].PublicKey) {
		return nil
	}
	return errors.New("the peer does not know the secret")
}
