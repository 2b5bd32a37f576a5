package cluster

import (
	"fmt"
	"time"
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
	// Cores is how many the host has.
	Cores int
	// Clock is how far the process's comm.Now is ahead of the core's. It is known once the
	// process runs.
	Clock time.Duration
}

// OnCoreClock is the stamp on the core's clock of what happened at ns on the process's
// clock, both in ns of comm.Now. 0 stands for what never happened, and stays 0.
func (s Site) OnCoreClock(ns int64) int64 {
	if ns == 0 {
		return 0
	}
	return ns - int64(s.Clock)
}

// RequireHost reports that two processes that hand something over in shared memory, or
// by a Unix socket, do not run on one host.
func RequireHost[M member](what string, x, y M) error {
	a, b := x.base(), y.base()
	if here, there := a.Site().Host, b.Site().Host; here != there {
		return fmt.Errorf("%s runs on %s and %s on %s, but %s must stay on one host", a.Name, here, b.Name, there, what)
	}
	return nil
}

// RequireClock reports that two processes that compare each other's stamps have different
// clocks.
func RequireClock[M member](what string, x, y M) error {
	a, b := x.base(), y.base()
	if apart := b.Site().Clock - a.Site().Clock; apart != 0 {
		return fmt.Errorf("the clock of %s is %v ahead of that of %s, but %s needs one clock", b.Name, apart, a.Name, what)
	}
	return nil
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

// Share is how many cores of its host a process gets that some share evenly, as far as they
// run there: 1 at least.
func Share[M member](of M, among []M) int {
	site, there := of.base().Site(), 0
	for _, m := range among {
		if m.base().Site().Host == site.Host {
			there++
		}
	}
	return max(1, site.Cores/max(1, there))
}
