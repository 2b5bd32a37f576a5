package team

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/internal/bom"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// System describes this process for the detectors of package launchers. hostsFile is the path of the user's hosts file,
// or "".
func System(environ []string, hostsFile string) launchers.System {
	host, _ := os.Hostname() // if this fails, the name stays empty
	return launchers.System{Environ: environ, Host: host, ReadFile: readBounded, HostsFile: hostsFile, IsHere: isHere}
}

// mostMiB limits the size of a hosts file in MiB, so that a file like /dev/zero cannot fill the memory.
const mostMiB = 16

// readBounded reads a text file of limited size. readBounded strips a byte order mark.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path) // #nosec G304 -- the user names it
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, mostMiB<<20+1))
	if err == nil && len(text) > mostMiB<<20 {
		err = fmt.Errorf("it has more than %d MiB, the most that psbench reads", mostMiB)
	}
	if err != nil {
		return nil, err
	}
	return bom.Cut(text)
}

// Listed returns the hosts of a hosts file, formatted as its lines. several is true if one of them is not this host.
func Listed(file string, environ []string) (lines []string, several bool, err error) {
	text, err := readBounded(file)
	if err != nil {
		return nil, false, fmt.Errorf("--%s: %s cannot be read: %w", HostsFlag, quote.Word(file), draft.Cause(err))
	}
	hosts, err := launchers.ParseHosts(string(text))
	if err != nil {
		return nil, false, fmt.Errorf("--%s: %s:%w", HostsFlag, quote.Word(file), err)
	}
	for _, h := range hosts {
		lines = append(lines, h.String())
	}
	return lines, launchers.Look(System(environ, file)).Place.Several(), nil
}

// variable returns the value of a variable in an environment, or "".
func variable(environ []string, name string) (value string) {
	for _, v := range environ {
		if key, text, _ := strings.Cut(v, "="); key == name {
			value = text
		}
	}
	return value
}

// addressHere returns the address under which other hosts reach this host. choice is the value of the option interface.
func addressHere(choice string) (netip.Addr, error) {
	have, err := placement.Interfaces()
	if err != nil {
		return netip.Addr{}, err
	}
	if choice != "" {
		ip, err := placement.ChooseAddress(choice, have)
		if err != nil {
			return ip, fmt.Errorf("--interface %s %w", choice, err)
		}
		return ip, nil
	}
	var named []netip.Addr
	if host, err := os.Hostname(); err == nil {
		texts, _ := net.LookupHost(host) // an unknown name has no address
		for _, text := range texts {
			if ip, err := netip.ParseAddr(text); err == nil {
				named = append(named, ip)
			}
		}
	}
	return placement.DefaultAddress(named, have), nil
}

// lookupLimit limits how long the lookup of a name may take.
const lookupLimit = 5 * time.Second

// isHere reports whether a name or an address belongs to this host. isHere returns false for a name without an address.
// Only ssh may know such a name.
func isHere(name string) bool {
	addresses, _ := lookup(context.Background(), name)
	return slices.ContainsFunc(addresses, isOwn)
}

// lookup returns the addresses of a name. If name is an address, lookup returns that address.
func lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	for i := range addresses {
		addresses[i] = addresses[i].Unmap()
	}
	return addresses, err
}

// lookupCause returns why a lookup failed, without repeating the name.
func lookupCause(err error) error {
	if dns := new(net.DNSError); errors.As(err, &dns) {
		return errors.New(dns.Err)
	}
	return err
}

// isOwn reports whether an address belongs to this host.
func isOwn(a netip.Addr) bool {
	have, _ := placement.Interfaces()
	return a.IsLoopback() ||
		slices.ContainsFunc(have, func(i placement.Interface) bool { return slices.Contains(i.Addresses, a) })
}
