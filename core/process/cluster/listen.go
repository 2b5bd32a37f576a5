package cluster

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/psbench/psbench/core/host/placement"
)

// CheckListen reports that processes are to listen on an address that this host does not have, or in a warning that
// all of their sites have addresses of their own. Name is how the user gave the address, as in --listen.
func CheckListen[M member](name, address string, members []M) (warning string, err error) {
	if !slices.ContainsFunc(members, func(m M) bool { return m.base().Site().Listen == "" }) {
		return name + " has no effect: each host of the run listens on an address of its own, which --interface can choose", nil
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "", err
	}
	have, err := placement.Interfaces()
	if err != nil {
		return "", err
	}
	if err := placement.CheckAddress(ip, have); err != nil {
		return "", fmt.Errorf("%s is %s, which %w", name, ip, err)
	}
	return "", nil
}
