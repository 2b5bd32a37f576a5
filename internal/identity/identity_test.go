package identity

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
)

func identityOf(t *testing.T, secret byte, purpose string) *Identity {
	t.Helper()
	i, err := Of(bytes.Repeat([]byte{secret}, 32), purpose)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// meet connects two configurations; each side does the handshake and sends one word. A configuration may be nil for
// a side without TLS.
func meet(t *testing.T, server, client *tls.Config) (atServer, atClient error) {
	t.Helper()
	a, b := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- say(tls.Server(a, server))
		_ = a.Close()
	}()
	atClient = say(tls.Client(b, client))
	_ = b.Close()
	return <-ended, atClient
}

func say(c *tls.Conn) error {
	if err := c.Handshake(); err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() { // a pipe has no buffer
		_, err := c.Write([]byte("word"))
		written <- err
	}()
	_, err := io.ReadFull(c, make([]byte, 4))
	if werr := <-written; err == nil {
		err = werr
	}
	return err
}

func TestWhoKnowsTheSecret(t *testing.T) {
	us, strangers := identityOf(t, 1, "links"), identityOf(t, 2, "links")
	again, other := identityOf(t, 1, "links"), identityOf(t, 1, "agents")
	nobody := us.Client()
	nobody.Certificates = nil
	old := us.Client()
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	for name, c := range map[string]struct {
		client *tls.Config
		server bool // the server detects the difference
		dialer bool
	}{
		"the same secret": {again.Client(), false, false},
		"another secret":  {strangers.Client(), true, true},
		"another purpose": {other.Client(), true, true},
		"no certificate":  {nobody, true, true},
		"TLS 1.2":         {old, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			atServer, atClient := meet(t, us.Server(), c.client)
			if (atServer != nil) != c.server || (atClient != nil) != c.dialer {
				t.Errorf("%s: the server says %v, the client %v", name, atServer, atClient)
			}
		})
	}
	trusting := strangers.Client() // a client that accepts any server is refused too
	trusting.VerifyConnection = nil
	if atServer, _ := meet(t, us.Server(), trusting); atServer == nil ||
		!strings.Contains(atServer.Error(), "does not know the secret") {
		t.Errorf("the server says %v of a stranger", atServer)
	}
}

func TestShortSecret(t *testing.T) {
	if _, err := Of(make([]byte, 15), "links"); err == nil || !strings.Contains(err.Error(), "15 bytes is too short") {
		t.Errorf("the error is %v", err)
	}
}
