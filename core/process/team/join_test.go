package team

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// The address of the first task must be a single address that other tasks can call.
func TestAddressOfTheCore(t *testing.T) {
	const form = "must be HOST:PORT, the address of the first task, with a port from 1 to 65535"
	const all = "stands for all addresses of a host: it must be one of them"
	for core, want := range map[string]string{
		"node1:4555":             "",
		"10.0.0.1:1":             "",
		"[fe80::1%eth0]:65535":   "",
		"node1":                  `--core is "node1" but ` + form,
		":4555":                  `--core is ":4555" but ` + form,
		"node1:0":                `--core is "node1:0" but ` + form,
		"0.0.0.0:29000":          "--core: 0.0.0.0 " + all,
		"[::]:29000":             "--core: :: " + all,
		"[::ffff:0.0.0.0]:29000": "--core: ::ffff:0.0.0.0 " + all,
		"[::%lo]:29000":          "--core: ::%lo " + all,
	} {
		t.Run(core, func(t *testing.T) {
			if err := checkCore(core, "--core"); want == "" && err != nil ||
				want != "" && (err == nil || err.Error() != want) {
				t.Errorf("%s: %v, want %q", core, err, want)
			}
		})
	}
}

// The first task must run on the host that all other tasks call.
func TestNameOfTheCore(t *testing.T) {
	loopback, other := netip.MustParseAddr("127.0.1.1"), netip.MustParseAddr("192.0.2.1")
	for name, test := range map[string]struct {
		found []netip.Addr
		err   error
		want  string
	}{
		"here":     {found: []netip.Addr{loopback}},
		"one here": {found: []netip.Addr{other, loopback}},
		"other": {found: []netip.Addr{other},
			want: "PSBENCH_CORE is node1:4555, but node1, which is 192.0.2.1, is another host than this one: the first task must run there"},
		"none": {err: &net.DNSError{Err: "no such host", Name: "node1"},
			want: "PSBENCH_CORE is node1:4555, but this task, the first one, finds no address of node1: no such host"},
		"failed": {err: errors.New("no answer"),
			want: "PSBENCH_CORE is node1:4555, but this task, the first one, finds no address of node1: no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			err := elsewhere("node1:4555", "PSBENCH_CORE", "node1", test.found, test.err)
			if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
				t.Errorf("%s: %v, want %q", name, err, test.want)
			}
		})
	}
}

// Only names that the user gives are looked up, and none in a pod.
func TestNamesThatAreLookedUp(t *testing.T) {
	for name, test := range map[string]struct {
		core, from string
		environ    []string
		refused    bool
	}{
		"flag":      {"nosuch.invalid:4555", "--core", nil, true},
		"variable":  {"nosuch.invalid:4555", "PSBENCH_CORE", nil, true},
		"localhost": {"localhost:4555", "--core", nil, false},
		"address":   {"192.0.2.1:4555", "--core", nil, false},
		"torchrun":  {"nosuch.invalid:29417", "MASTER_ADDR", nil, false},
		"pod":       {"nosuch.invalid:4555", "PSBENCH_CORE", []string{"KUBERNETES_SERVICE_HOST=10.0.0.1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkHere(t.Context(), test.core, test.from, test.environ); (err != nil) != test.refused ||
				err != nil && !strings.Contains(err.Error(), test.from+" is nosuch.invalid:4555") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
