package placement

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/psbench/psbench/internal/quote"
)

// Interface is a network interface of a host.
type Interface struct {
	Name string
	Up   bool
	// Addresses lists the addresses that other hosts can reach. Addresses omits link-local addresses.
	Addresses []netip.Addr
}

// Interfaces returns the interfaces of this host in the kernel's order.
func Interfaces() ([]Interface, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("the network interfaces of this host cannot be read: %w", err)
	}
	var all []Interface
	for _, i := range list {
		one := Interface{Name: i.Name, Up: i.Flags&net.FlagUp != 0}
		addresses, err := i.Addrs() // fails if the interface no longer exists
		if err == nil {
			for _, a := range addresses {
				if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLinkLocalUnicast() {
					one.Addresses = append(one.Addresses, p.Addr())
				}
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// ChooseAddress returns the address of an interface that is up. want is the name of the interface, or a network such as
// 10.0.0.0/8 that contains the address. There must be only one such address. If an interface has one IPv4 address, its
// IPv6 addresses do not count. The error says in a sentence what the host has instead.
func ChooseAddress(want string, have []Interface) (netip.Addr, error) {
	network, err := netip.ParsePrefix(want)
	byNetwork := err == nil
	i := slices.IndexFunc(have, func(i Interface) bool { return i.Name == want })
	var found []string // with the names of their interfaces
	var chosen []netip.Addr
	switch {
	case byNetwork:
		network = network.Masked()
		for _, i := range have {
			for _, a := range i.Addresses {
				if i.Up && network.Contains(a) {
					found, chosen = append(found, a.String()+" of "+i.Name), append(chosen, a)
				}
			}
		}
	case i < 0 || !have[i].Up:
	default:
		chosen = have[i].Addresses
		if v4 := of4(chosen); len(v4) > 0 {
			chosen = v4
		}
		for _, a := range chosen {
			found = append(found, a.String())
		}
	}
	switch {
	case len(chosen) == 1:
		return chosen[0], nil
	case len(chosen) > 1 && byNetwork:
		return netip.Addr{}, fmt.Errorf("matches %s here, but must match one address: name a smaller network, or an interface",
			strings.Join(found, " and "))
	case len(chosen) > 1:
		return netip.Addr{},
			fmt.Errorf("has the addresses %s, but psbench needs one: give a network that contains one of them, as in %s/%d",
				strings.Join(found, " and "), chosen[0], chosen[0].BitLen())
	case byNetwork:
		return netip.Addr{}, fmt.Errorf("has no address here: there are %s", listed(have))
	case i < 0:
		return netip.Addr{},
			fmt.Errorf("is neither an interface of this host nor a network as in 10.0.0.0/8: there are %s",
				listed(have))
	case !have[i].Up:
		return netip.Addr{}, fmt.Errorf("is down: there are %s", listed(have))
	default:
		return netip.Addr{}, fmt.Errorf("has no address: there are %s", listed(have))
	}
}

// CheckAddress returns an error if processes of this host cannot listen on an address. The error says in a sentence
// what the host has instead.
func CheckAddress(ip netip.Addr, have []Interface) error {
	l, err := net.Listen("tcp", netip.AddrPortFrom(ip, 0).String()) // works for all addresses in 127.0.0.0/8
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		return fmt.Errorf("is no address of this host: there are %s", listed(have))
	}
	if err != nil {
		return fmt.Errorf("cannot be listened on: %w", err)
	}
	return l.Close()
}

// of4 returns the IPv4 addresses of a list.
func of4(all []netip.Addr) (some []netip.Addr) {
	for _, a := range all {
		if a.Is4() {
			some = append(some, a)
		}
	}
	return some
}

// mostListed limits how many interfaces a sentence lists.
const mostListed = 8

// listed formats a list of interfaces, as in "lo (127.0.0.1), eth0 (down)".
func listed(have []Interface) string {
	if len(have) == 0 {
		return "none"
	}
	var parts []string
	for _, i := range have[:min(mostListed, len(have))] {
		var what []string
		for _, a := range i.Addresses {
			what = append(what, a.String())
		}
		switch {
		case !i.Up:
			what = []string{"down"}
		case len(what) == 0:
			what = []string{"no address"}
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", quote.Word(i.Name), strings.Join(what, ", ")))
	}
	if more := len(have) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// DefaultAddress returns the address of a host if the user chose none. Loopback addresses and interfaces that are down
// do not count. The default is the first address of the host's name that an interface has. If the name has no such
// address, the default is the first address of an interface. If no interface has an address either, the default is
// 127.0.0.1.
func DefaultAddress(named []netip.Addr, have []Interface) netip.Addr {
	var all []netip.Addr
	for _, i := range have {
		if i.Up {
			all = append(all, i.Addresses...)
		}
	}
	for _, a := range named {
		if a = a.Unmap(); !a.IsLoopback() && slices.Contains(all, a) {
			return a
		}
	}
	for _, a := range all {
		if !a.IsLoopback() {
			return a
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}
