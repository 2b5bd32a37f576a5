package wire

import (
	"strings"
	"testing"
	"time"
)

// kinds has one network of each kind; the last is on top of another network.
var kinds = []*Network{Unix, TCP, TCP.Over("grpc", nil, nil)}

func TestListenRefusesAddresses(t *testing.T) {
	for _, c := range []struct {
		network *Network
		address string
		want    string
	}{
		{kinds[2], "0.0.0.0",
			"server1 cannot listen: 0.0.0.0 stands for all addresses of a host: it must be one of them"},
		{TCP.Insecure(), "::", ":: stands for all addresses of a host: it must be one of them"},
		{TCP, "::ffff:0.0.0.0", "stands for all addresses of a host: it must be one of them"},
		{TCP, "224.0.0.1", "224.0.0.1 is an address of many hosts: it must be of one"},
		{TCP, "fe80::1%eth0",
			"fe80::1%eth0 has a zone, which other hosts name differently: it must be an address without one"},
		{TCP, "localhost", `tcp listens on an IP address, and "localhost" is none`},
		{TCP, "127.0.0.1:80", `tcp listens on an IP address, and "127.0.0.1:80" is none`},
		{Unix, "", `"" is not the path of a socket`},
		{Unix, "@abstract", `"@abstract" is not the path of a socket`},
		{Unix, strings.Repeat("x", 108), "has 108 bytes, more than the kernel's limit of 107"},
	} {
		t.Run(c.address, func(t *testing.T) {
			l, err := c.network.Listen(c.address, "server1", make([]byte, SecretSize))
			if err == nil {
				_ = l.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("listening on %s %s gave %v, want %q", c.network.Name(), c.address, err, c.want)
			}
		})
	}
}

func TestDialRefusesAddresses(t *testing.T) {
	networkOf := map[string]*Network{}
	for _, n := range kinds {
		networkOf[n.Name()] = n
	}
	for address, want := range map[string]string{
		"/run/server1":      `the address "/run/server1" is not one of network tcp: tcp: must come first`,
		"shm:/run/server1":  "is not one of network tcp",
		"":                  "is not one of network tcp",
		"unix:":             `"" is not the path of a socket`,
		"tcp:localhost:1":   "has no IP address and port after tcp:, as in tcp:127.0.0.1:4711",
		"tcp:127.0.0.1":     "has no IP address and port after tcp:",
		"tcp:127.0.0.1:0":   "has no IP address and port after tcp:",
		"grpc:127.0.0.1:x":  "has no IP address and port after grpc:",
		"tcp:0.0.0.0:4711":  "trainer0 cannot reach server1 for its push link: 0.0.0.0 stands for all addresses of a host: it must be one of them",
		"grpc:[ff02::1]:80": "ff02::1 is an address of many hosts: it must be of one",
		"tcp:[fe80::1%a]:8": "fe80::1%a has a zone, which other hosts name differently: it must be an address without one",
	} {
		t.Run(address, func(t *testing.T) {
			name, _, _ := strings.Cut(address, ":")
			n := networkOf[name]
			if n == nil {
				n = TCP
			}
			if _, err := n.Dial(address, Call{"trainer0", "server1", "push", make([]byte, SecretSize),
				time.Second}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("dialling %q gave %v, want %q", address, err, want)
			}
		})
	}
}

func FuzzEndpoint(f *testing.F) {
	for _, text := range []string{"unix:/run/x", "tcp:127.0.0.1:4711", "grpc:[::1]:4712", "tcp:[::ffff:127.0.0.1]:1",
		"tcp:010.0.0.1:1", "tcp:10.0.0.1:1", "grpc:[fd00::1]:1", "tcp:[fe80::1%lo]:1", "unix:@x", "tcp:", "/run/x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range kinds {
			e, err := n.parse(text)
			if err != nil {
				continue
			}
			if e.String() != text {
				t.Fatalf("%q was read as %s", text, e)
			}
			k, err := e.keys([SecretSize]byte{})
			if err != nil {
				t.Fatal(err)
			}
			if alone := e.network == Unix || e.host.Addr().Unmap().IsLoopback(); alone != (k.tls == nil) {
				t.Fatalf("%q is reached by this host alone: %t; TLS: %t", text, alone, k.tls != nil)
			}
		}
	})
}
