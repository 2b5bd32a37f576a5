package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/team"
	"github.com/psbench/psbench/core/show/listing"
	"github.com/psbench/psbench/internal/screen"
)

// hostsFlag is the flag --hosts. A file may follow with or without an equals sign.
type hostsFlag struct {
	given bool
	file  string
}

// noHostsFile is the value of --hosts without a file. No file has this name.
const noHostsFile = "/"

func (h *hostsFlag) String() string { return "" }
func (h *hostsFlag) Type() string   { return "hosts" }

// Set implements pflag.Value.
func (h *hostsFlag) Set(file string) error {
	switch file {
	case noHostsFile:
	case "":
		return errors.New("no file has an empty name")
	default:
		h.file = file
	}
	h.given = true
	return nil
}

// arguments accepts the file of --hosts FILE, because cobra passes it as an argument.
func (h *hostsFlag) arguments(cmd *cobra.Command, args []string) error {
	if h.given && h.file == "" && len(args) == 1 {
		if h.file = args[0]; h.file == "" {
			return usagef("--%s is \"\" but must be %s", team.HostsFlag, flagTypes[h.Type()])
		}
		return nil
	}
	return noArguments(cmd, args)
}

// hosts shows the launcher that started this process, and its other tasks. The first task prints for all tasks.
// Another task prints only errors that the first task cannot know.
func (a *app) hosts(cmd *cobra.Command, file, format string) error {
	m, err := a.member(cmd, nil, a.mergeOwn)
	if err != nil {
		return err
	}
	f := launchers.Look(team.System(a.environ, file))
	if f.Err != nil {
		return f.Err
	}
	m.Finding = f
	tasks, err := m.RollCall(cmd.Context())
	switch {
	case err != nil || f.Place.Rank != 0:
		return err
	case format == "json":
		return encodeJSON(a.stdout, listing.HostsOf(f, tasks))
	}
	return a.print(func(p *screen.Page) error { return listing.Hosts(p, f, tasks) })
}
