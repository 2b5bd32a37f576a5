package main

import (
	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/show/listing"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

func (a *app) configCommand() *cobra.Command {
	var format string
	var hosts hostsFlag
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the effective configuration and where each value comes from",
		Long: `config takes the flags of run but runs nothing. It shows the value of each flag
and of each setting of the chosen parts, and where the value comes from. --config
reads the output of --format json.

With --hosts it shows the launcher that has started it, its rank among the tasks,
and how it recognises each launcher. If the launcher lets tasks talk to each
other, it shows all tasks. A FILE lists hosts, one a line, as for run.
docs/launchers.md explains it.`,
		Example: lines(
			"psbench config --ntrainer 4",
			"psbench config --format json > run.json",
			"srun --mpi=pmi2 -N2 --ntasks-per-node=1 psbench config --hosts",
		),
		Args: hosts.arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "table" && format != "json" {
				return usagef("--format is %s but must be table or json", quote.String(format))
			}
			if hosts.given {
				return a.hosts(cmd, hosts.file, format)
			}
			exp, _, err := a.resolve(cmd)
			if err != nil {
				return err
			}
			for _, warning := range exp.Warnings {
				printf(a.stderr, "psbench: warning: %s\n", warning)
			}
			if format == "json" {
				return encodeJSON(a.stdout, config.File(exp.Values))
			}
			return a.print(func(p *screen.Page) error { return listing.Values(p, exp.Values) })
		},
	}
	a.addFlags(cmd)
	cmd.Flags().Var(&hosts, "hosts",
		"show the launcher that has started this process, and its other tasks; a `FILE` of hosts may follow")
	cmd.Flags().Lookup("hosts").NoOptDefVal = noHostsFile
	cmd.Flags().StringVar(&format, "format", "table", "how to print: table or json")
	_ = cmd.RegisterFlagCompletionFunc("format",
		cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
