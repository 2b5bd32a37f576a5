package cluster

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/psbench/psbench/core/host/clocks"
	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/host/placement"
)

// CoreHost is the name of the core's host in error messages.
const CoreHost = "the core's host"

// Site is where a process runs.
type Site struct {
	// Host names the machine. Processes of one host share its memory and its file system.
	Host string
	// Directory is the folder of the process's Unix sockets, of mode 0700; it is removed when the run ends.
	// Processes of one host may have different ones.
	Directory string
	// Listen is the IP address on which the process accepts links from other hosts; empty for the user's choice.
	Listen string
	// Cores is the number of CPUs of the host.
	Cores int
	// CPUs are the CPUs on which the process may run; empty for all.
	CPUs machine.CPUs
	// Clock is the clock of comm.Now in the process; nil for the clock of the core's host. All processes of a host
	// have the same one. It is known once the process runs, or earlier.
	Clock *clocks.Clock
}

// SameHost reports whether two processes share a host.
func SameHost(x, y member) bool { return x.base().Site().Host == y.base().Site().Host }

// Hosts numbers the hosts of the processes in the order in which they appear.
func Hosts[M member](members []M) []int {
	numbers, hosts := map[string]int{}, make([]int, len(members))
	for i, m := range members {
		host := m.base().Site().Host
		if _, known := numbers[host]; !known {
			numbers[host] = len(numbers)
		}
		hosts[i] = numbers[host]
	}
	return hosts
}

// RequireHost returns an error if two processes that share memory, or a Unix socket, run on different hosts.
func RequireHost[M member](what string, x, y M) error {
	if SameHost(x, y) {
		return nil
	}
	return fmt.Errorf("%s, but %s must stay on one host", whereabouts(x, y), what)
}

// whereabouts says where two processes run.
func whereabouts[M member](x, y M) string {
	a, b := x.base(), y.base()
	return fmt.Sprintf("%s runs on %s and %s on %s", a.Name, a.Site().Host, b.Name, b.Site().Host)
}

// RequireClock returns an error if two processes that compare each other's stamps have different clocks.
func RequireClock[M member](what string, x, y M) error {
	a, b := x.base(), y.base()
	mine, other := a.Site().Clock, b.Site().Clock
	if mine == other {
		return nil
	}
	x0, y0 := mine.Estimate(), other.Estimate()
	apart := time.Duration(y0.OffsetNS - x0.OffsetNS)
	return fmt.Errorf("the clock of %s is %v ahead of the clock of %s, but %s needs one clock", b.Name, apart, a.Name, what)
}

// AtCore returns the processes on the core's host, which together use that host's memory. Only the processes of
// another host can tell how much memory that host has left.
func AtCore[M member](all []M) []M {
	var here []M
	for _, m := range all {
		if m.base().Site().Host == CoreHost {
			here = append(here, m)
		}
	}
	return here
}

// Share returns how many CPUs a process gets, of its host or of those to which it is pinned, if the processes of
// among that run there share them evenly; at least 1.
func Share[M member](of M, among []M) int {
	site, there := of.base().Site(), 0
	for _, m := range among {
		if s := m.base().Site(); s.Host == site.Host && slices.Equal(s.CPUs, site.CPUs) {
			there++
		}
	}
	cpus := site.Cores
	if len(site.CPUs) > 0 {
		cpus = len(site.CPUs)
	}
	return max(1, cpus/max(1, there))
}

// CheckListen returns an error if processes would listen on an address that this host does not have, or a warning
// if all of their sites have other addresses. name is how the user gave the address, as in --listen.
func CheckListen[M member](name, address string, members []M) (warning string, err error) {
	if !slices.ContainsFunc(members, func(m M) bool { return m.base().Site().Listen == "" }) {
		return name +
			" has no effect: each host of the run listens on an address of its own, which --interface can choose", nil
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
