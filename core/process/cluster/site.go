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

// CoreHost is the host of the core, as error messages call it.
const CoreHost = "the core's host"

// Site is where a process runs.
type Site struct {
	// Host names the machine. Processes of one host share its memory and its file system.
	Host string
	// Directory is the folder of the process's Unix sockets: mode 0700, and gone when the
	// run ends. Processes of one host may have different ones.
	Directory string
	// Listen is the IP address on which the process takes links from elsewhere; empty for
	// the one that the user chose.
	Listen string
	// Cores is how many CPUs the host has.
	Cores int
	// CPUs are those that the process may run on; none: all of them.
	CPUs machine.CPUs
	// Clock is what comm.Now of the process is; nil for that of the core's host. All processes of a
	// host have the same one. It is known once the process runs, at the latest.
	Clock *clocks.Clock
}

// SameHost says that two processes share a host.
func SameHost(x, y member) bool { return x.base().Site().Host == y.base().Site().Host }

// Hosts has a number for the host of each process, counted as they come.
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

// RequireHost reports that two processes that hand something over in shared memory, or
// by a Unix socket, do not run on one host.
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

// RequireClock reports that two processes that compare each other's stamps have different
// clocks.
func RequireClock[M member](what string, x, y M) error {
	a, b := x.base(), y.base()
	mine, other := a.Site().Clock, b.Site().Clock
	if mine == other {
		return nil
	}
	x0, y0 := mine.Estimate(), other.Estimate()
	apart := time.Duration(y0.OffsetNS - x0.OffsetNS)
	return fmt.Errorf("the clock of %s is %v ahead of that of %s, but %s needs one clock", b.Name, apart, a.Name, what)
}

// AtCore are those of the processes that run on the core's host: memory that they take
// together is that host's. What another host has left only its own processes can tell,
// each for itself.
func AtCore[M member](all []M) []M {
	var here []M
	for _, m := range all {
		if m.base().Site().Host == CoreHost {
			here = append(here, m)
		}
	}
	return here
}

// Share is how many CPUs of its host, or of those that it is pinned to, a process gets that some share
// evenly, as far as they run there: 1 at least.
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

// CheckListen reports that processes are to listen on an address that this host does not have, or in a warning that
// all of their sites have addresses of their own. Name is how the user gave the address, as in --listen.
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
