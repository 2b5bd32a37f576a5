package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/interfaces"
	"github.com/psbench/psbench/core/launchers"
	"github.com/psbench/psbench/core/sweep"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// onOneHost has a command refuse to start where a launcher has started psbench as one of several tasks. Each
// would measure by itself, on cores that all of them use. Those that --share a sweep see to that themselves. The
// command's runs are processes of psbench, each of which goes over the hosts of --hosts.
func (a *app) onOneHost(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.Flags().String(listFlag, "", "hosts of every run, one a line of a `FILE`; ssh starts an agent on each")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		hosts, _ := cmd.Flags().GetString(listFlag)
		share, _ := cmd.Flags().GetBool("share")
		if share && hosts != "" {
			return usagef("--share has this host run whole rounds by itself, but --%s has each run go over several: give one of the two", listFlag)
		}
		if share {
			return run(cmd, args)
		}
		f := launchers.Look(a.system(hosts))
		if err := (&joining{hosts: hosts}).unused(f); err != nil && f.Err == nil {
			return err
		}
		if err := f.Refusal(); err != nil && (f.Err != nil || f.Launcher != launchers.HostsFile) {
			return err
		}
		return run(cmd, args)
	}
	return cmd
}

// hostsOf are the lines of the file that --hosts names, if it does, and whether there are hosts beside this one.
func (a *app) hostsOf(cmd *cobra.Command) (lines []string, across bool, err error) {
	file, _ := cmd.Flags().GetString(listFlag)
	if file == "" {
		return nil, false, nil
	}
	text, err := os.ReadFile(file) // #nosec G304 -- the user names it
	if err != nil {
		return nil, false, fmt.Errorf("--%s: %s cannot be read: %w", listFlag, quote.Word(file), draft.Cause(err))
	}
	hosts, err := launchers.ParseHosts(string(text))
	if err != nil {
		return nil, false, fmt.Errorf("--%s: %s:%w", listFlag, quote.Word(file), err)
	}
	for _, h := range hosts {
		lines = append(lines, h.String())
	}
	return lines, launchers.Look(a.system(file)).Place.Several(), nil
}

// checkHosts refuses hosts that have one psbench for cells of several.
func checkHosts(p *sweep.Plan) error {
	programs := map[string]bool{}
	for _, i := range p.Running() {
		programs[p.Cells[i].Binary] = true
	}
	i := slices.IndexFunc(p.Hosts, func(line string) bool { return strings.Contains(line, " psbench=") })
	if len(programs) < 2 || i < 0 {
		return nil
	}
	return fmt.Errorf("--%s: %s names one psbench, but the cells have %d, which each host must have at the path that they have here: leave psbench= out", listFlag, p.Hosts[i], len(programs))
}

// system is this one, as the detectors of launchers see it.
func (a *app) system(hostsFile string) launchers.System {
	host, _ := os.Hostname() // without one it has no name
	return launchers.System{Environ: a.environ, Host: host, ReadFile: os.ReadFile, HostsFile: hostsFile, IsHere: isHere}
}

// lookupLimit is how long it may take to find out which addresses a name stands for.
const lookupLimit = 5 * time.Second

// isHere says whether a name or an address is one of this host. A name that stands for no address may be one that
// ssh alone knows.
func isHere(name string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lookupLimit)
	defer cancel()
	addresses, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", name) // of an address it is that
	have, _ := interfaces.Here()
	return slices.ContainsFunc(addresses, func(a netip.Addr) bool {
		a = a.Unmap()
		return a.IsLoopback() || slices.ContainsFunc(have, func(i interfaces.Interface) bool { return slices.Contains(i.Addresses, a) })
	})
}
