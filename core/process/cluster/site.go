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
	// Host is the name of the machine. Processes on the same host share memory and a file system.
	Host string
	// Directory is the folder of the process's Unix sockets, with mode 0700. The folder is removed when the run ends.
	// Processes on the same host may have different folders.
	Directory string
	// Listen is the IP address on which the process accepts links from other hosts. If empty, the user's setting
	// applies.
	Listen string
	// Cores is the number of the host's CPUs.
	Cores int
	// CPUs are the CPUs on which the process may run. Empty means all CPUs.
	CPUs machine.CPUs
	// Clock is the clock that comm.Now reads in the process, or nil for the core's host. All processes on a host share
	// one Clock. Clock is set at the latest when the process runs.
	Clock *clocks.Clock
}

// SameHost reports whether two processes run on the same host.
func SameHost(x, y member) bool { return x.base().Site().Host == y.base().Site().Host }

// Hosts returns a host number for each process. Hosts are numbered in the order of their first process.
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

// RequireHost returns an error if two processes run on different hosts. Use it for processes that share memory or a
// Unix socket.
func RequireHost[M member](what string, x, y M) error {
	if SameHost(x, y) {
		return nil
	}
	return fmt.Errorf("%s, but %s must stay on one host", whereabouts(x, y), what)
}

// whereabouts returns a phrase that says where two processes run.
func whereabouts[M member](x, y M) string {
	a, b := x.base(), y.base()
	return fmt.Sprintf("%s runs on %s and %s on %s", a.Name, a.Site().Host, b.Name, b.Site().Host)
}

// RequireClock returns an error if two processes have different clocks. Use it for processes that compare each other's
// timestamps.
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

// AtCore returns the processes that run on the core's host and therefore share its memory. For another host, only the
// processes there can find out how much memory is left.
func AtCore[M member](all []M) []M {
	var here []M
	for _, m := range all {
		if m.base().Site().Host == CoreHost {
			here = append(here, m)
		}
	}
	return here
}

// Share returns the number of CPUs that a process gets, at least 1. Share divides the CPUs of the host, or those to
// which the process is pinned, evenly. The members of among with the same host and the same pinning share these CPUs.
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

// CheckListen returns an error if processes would listen on an address that this host does not have. CheckListen
// returns a warning if all sites have their own addresses, so that address has no effect. name is the option, such as
// --listen.
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
