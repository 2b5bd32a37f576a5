package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/psbench/psbench/core/host/interfaces"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/internal/bom"
)

// system is this one, as the detectors of launchers see it.
func (a *app) system(hostsFile string) launchers.System {
	host, _ := os.Hostname() // without one it has no name
	return launchers.System{Environ: a.environ, Host: host, ReadFile: readBounded, HostsFile: hostsFile, IsHere: isHere}
}

// mostMiB bounds what is read of a file of hosts: /dev/zero must not fill the memory.
const mostMiB = 16

// readBounded is os.ReadFile of a text that is not too large, without its byte order mark.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path) // #nosec G304 -- the user names it
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, mostMiB<<20+1))
	if err == nil && len(text) > mostMiB<<20 {
		err = fmt.Errorf("it has more than %d MiB, which is the most that is read", mostMiB)
	}
	if err != nil {
		return nil, err
	}
	return bom.Cut(text)
}

// lookupLimit is how long it may take to find out which addresses a name stands for.
const lookupLimit = 5 * time.Second

// isHere says whether a name or an address is one of this host. A name that stands for no address may be one that
// ssh alone knows.
func isHere(name string) bool {
	addresses, _ := lookup(context.Background(), name)
	return slices.ContainsFunc(addresses, isOwn)
}

// lookup are the addresses that a name stands for; of an address it is that.
func lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	for i := range addresses {
		addresses[i] = addresses[i].Unmap()
	}
	return addresses, err
}

// lookupCause is why there is no address, without the name.
func lookupCause(err error) error {
	if dns := new(net.DNSError); errors.As(err, &dns) {
		return errors.New(dns.Err)
	}
	return err
}

// isOwn says whether an address is one of this host.
func isOwn(a netip.Addr) bool {
	have, _ := interfaces.Here()
	return a.IsLoopback() || slices.ContainsFunc(have, func(i interfaces.Interface) bool { return slices.Contains(i.Addresses, a) })
}
