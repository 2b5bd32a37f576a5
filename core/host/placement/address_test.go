package placement

import (
	"net/netip"
	"testing"
)

// of returns an interface that is up.
func of(name string, addresses ...string) Interface {
	i := Interface{Name: name, Up: true}
	for _, a := range addresses {
		i.Addresses = append(i.Addresses, netip.MustParseAddr(a))
	}
	return i
}

// The kernel decides on which addresses a process can listen.
func TestCheck(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1": "", "127.3.2.1": "", // no interface has the second address
		"203.0.113.77": "is no address of this host: there are lo (127.0.0.1)",
	} {
		t.Run(address, func(t *testing.T) {
			got := ""
			if err := CheckAddress(netip.MustParseAddr(address), []Interface{of("lo", "127.0.0.1")}); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s: %q, want %q", address, got, want)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	down := of("ib0", "10.1.0.7")
	down.Up = false
	have := []Interface{of("lo", "127.0.0.1", "::1"), of("eth0", "10.0.0.5", "2001:db8::5"),
		of("eth1", "192.168.1.2", "192.168.2.2"), of("six", "2001:db8:1::1"), of("bare"), down}
	const all = "lo (127.0.0.1, ::1), eth0 (10.0.0.5, 2001:db8::5), eth1 (192.168.1.2, 192.168.2.2), six (2001:db8:1::1), bare (no address), ib0 (down)"
	for want, address := range map[string]string{
		"lo": "127.0.0.1", "127.0.0.0/8": "127.0.0.1", "::1/128": "::1", "eth0": "10.0.0.5", "10.0.0.0/8": "10.0.0.5",
		"10.9.9.9/8":     "10.0.0.5",
		"192.168.2.0/24": "192.168.2.2", "six": "2001:db8:1::1", "2001:db8::/48": "2001:db8::5",
	} {
		t.Run(want, func(t *testing.T) {
			if got, err := ChooseAddress(want, have); err != nil || got.String() != address {
				t.Errorf("%s is %v (%v), want %s", want, got, err, address)
			}
		})
	}
	for want, sentence := range map[string]string{
		"eth1":           "has the addresses 192.168.1.2 and 192.168.2.2, but psbench needs one: give a network that contains one of them, as in 192.168.1.2/32",
		"192.168.0.0/16": "matches 192.168.1.2 of eth1 and 192.168.2.2 of eth1 here, but must match one address: name a smaller network, or an interface",
		"10.1.0.0/16":    "has no address here: there are " + all,
		"eth7":           "is neither an interface of this host nor a network as in 10.0.0.0/8: there are " + all,
		"10.0.0.5":       "is neither an interface of this host nor a network as in 10.0.0.0/8: there are " + all,
		"ib0":            "is down: there are " + all,
		"bare":           "has no address: there are " + all,
	} {
		t.Run(want, func(t *testing.T) {
			if got, err := ChooseAddress(want, have); err == nil || err.Error() != sentence {
				t.Errorf("%s is %v, and the error is\n%v\nwant\n%s", want, got, err, sentence)
			}
		})
	}
	if _, err := ChooseAddress("lo", nil); err == nil ||
		err.Error() != "is neither an interface of this host nor a network as in 10.0.0.0/8: there are none" {
		t.Errorf("of no interfaces: %v", err)
	}
	many := make([]Interface, mostListed+2)
	if got := listed(many); got != listed(many[:mostListed])+", and 2 more" {
		t.Errorf("many are %s", got)
	}
}

// This host has a loopback interface.
func TestInterfaces(t *testing.T) {
	have, err := Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ChooseAddress("lo", have); err != nil || !got.IsLoopback() {
		t.Errorf("lo is %v (%v) of %v", got, err, have)
	}
}
