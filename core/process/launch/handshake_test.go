package launch

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/psbench/psbench/internal/host"
)

// certificate returns a certificate in the form of go-plugin's handshake.
func certificate(t *testing.T) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawStdEncoding.EncodeToString(cert)
}

// go-plugin treats a sixth field of this length as a certificate. psbench refuses such a handshake.
func TestCertificateThatNobodyAskedFor(t *testing.T) {
	l := launcher(t)
	liar := program(t, `echo "1|2000|unix|$PSBENCH_PLUGIN_DIR/s|grpc|`+certificate(t)+`"; exec sleep 1000`)
	_, err := l.Start(t.Context(), Spec{Name: "trainer0", Plugin: liar})
	if err == nil ||
		!strings.HasPrefix(err.Error(),
			"trainer0 did not start: its handshake has a certificate as its sixth word, but psbench asks for none") {
		t.Errorf("the start gave %v", err)
	}
}

// psbench refuses every invalid handshake with its own message.
func TestHandshakesThatCannotBeUsed(t *testing.T) {
	version := strconv.Itoa(int(host.Handshake.ProtocolVersion))
	const none = "plugin p did not start: it is not a psbench plugin: it ended without a handshake"
	for said, want := range map[string]string{
		"2|" + version + "|unix|$PSBENCH_PLUGIN_DIR/s|grpc":   none,
		"abc|" + version + "|unix|$PSBENCH_PLUGIN_DIR/s|grpc": none,
		"1|" + version:    none,
		"|||||||":         none,
		"\\x00\\xff\\x7f": none,
		"1|" + version + "|unix|$PSBENCH_PLUGIN_DIR/s":        "plugin p did not start: its handshake must name the protocol grpc as its fifth word, as in 1|" + version + "|unix|SOCKET|grpc",
		"1|" + version + "|unix|$PSBENCH_PLUGIN_DIR/s|netrpc": "plugin p did not start: its handshake must name the protocol grpc as its fifth word, as in 1|" + version + "|unix|SOCKET|grpc",
		"1|" + version + "|unix|":                             `plugin p did not start: it asks to be called at "unix:", which is no Unix socket in the run's folder /`,
		"1|" + version + "|tcp|nonsense|grpc":                 `plugin p did not start: it asks to be called at "tcp:nonsense", which is no Unix socket in the run's folder /`,
		"1|" + version + "|unix|$PSBENCH_PLUGIN_DIR/s|grpc|" + strings.Repeat("not base64 ",
			9): "plugin p did not start: its handshake has a certificate as its sixth word, but psbench asks for none",
		"1|" + version + "|unix|$PSBENCH_PLUGIN_DIR/s|grpc": "plugin p does not say what it provides: nothing answers calls at /",
	} {
		t.Run(said, func(t *testing.T) {
			then := "exec sleep 1000"
			if want == none {
				then = "exit 0" // after other output, psbench keeps waiting for a handshake
			}
			pl := program(t, `printf '%b\n' "`+said+`"; `+then)
			pl.Name = "p"
			if _, err := Describe(t.Context(), pl); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s gave\n%v, want\n%s", said, err, want)
			}
		})
	}
}

// A plugin's handshake gives the address at which the plugin listens. The core connects only to Unix sockets in the
// run's folder.
func TestACoreCallsItsFolderOnly(t *testing.T) {
	var calls atomic.Int32
	listen := func(network, address string) string {
		ln, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				calls.Add(1)
				_ = conn.Close()
			}
		}()
		return ln.Addr().String()
	}
	port, socket := listen("tcp", "127.0.0.1:0"), listen("unix", filepath.Join(t.TempDir(), "s"))
	for name, at := range map[string]string{
		"a port":                        "tcp|" + port,
		"a socket elsewhere":            "unix|" + socket,
		"a socket by way of the folder": "unix|$PSBENCH_PLUGIN_DIR/../.." + socket,
		"a socket without a file":       "unix|@psbench",
	} {
		t.Run(name, func(t *testing.T) {
			l := launcher(t)
			liar := program(t, `echo "1|2000|`+at+`|grpc"; exec sleep 1000`)
			_, err := l.Start(t.Context(), Spec{Name: "trainer0", Plugin: liar})
			if err == nil || !strings.HasPrefix(err.Error(), "trainer0 did not start: it asks to be called at \"") ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("the start gave %v", err)
			}
			if n := calls.Load(); n > 0 {
				t.Errorf("the core called %d times", n)
			}
		})
	}
}

// A plugin with another version of the contract is refused with a clear message, whether the plugin then ends or keeps
// running.
func TestPluginsOfOtherVersions(t *testing.T) {
	const old, newer = "build the plugin with the sdk of this psbench",
		"update psbench, or build the plugin with the sdk of this psbench"
	contract := host.Contract.String()
	next := host.Version{Major: host.Contract.Major, Minor: host.Contract.Minor + 1}
	none := " as its version of psbench's contract with plugins, which is not a version; this psbench speaks " + contract +
		": " + old
	for number, want := range map[string]string{
		"abc":  `names "abc"` + none,
		"":     `names ""` + none,
		"-1":   "names -1" + none,
		"1":    "speaks version 0.1 of psbench's contract with plugins, this psbench " + contract + ": " + old,
		"3000": "speaks version 3.0 of psbench's contract with plugins, this psbench " + contract + ": " + newer,

		strconv.Itoa(1000*next.Major + next.Minor): "speaks version " + next.String() +
			" of psbench's contract with plugins, this psbench " + contract + ": " + newer,
	} {
		t.Run(number, func(t *testing.T) {
			for _, then := range []string{"exec sleep 1000", "exit 1"} {
				l := launcher(t)
				_, err := l.Start(t.Context(),
					Spec{Name: "trainer0",
						Plugin: program(t, `echo "1|`+number+`|unix|$PSBENCH_PLUGIN_DIR/s|grpc"; `+then)})
				if err == nil || err.Error() != "trainer0 did not start: it "+want {
					t.Errorf("a plugin of version %s gave %v", number, err)
				}
			}
		})
	}
}
