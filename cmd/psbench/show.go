package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/report"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/internal/quote"
)

func (a *app) showCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Print the tables of a run from the file that --json left",
		Long: `show prints what a run printed at its end, from the file that it left with --json:
its tables and the answer, as --report and --stats say. The file may be compressed, and
of an older psbench; - is standard input.`,
		Example: lines(
			"psbench show run.json",
			"psbench show run.json.gz --report full",
		),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("show takes one file, but %s given", given(args))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"json", "gz"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := config.Merge(config.Sources{Environ: a.environ, Flags: cmd.Flags()})
			if err != nil {
				return err
			}
			r, err := readResult(args[0])
			if err != nil {
				return err
			}
			return report.Text(a.stdout, r, report.Options{Report: c.Report, Stats: c.Stats, Width: widthOf(a.stdout)})
		},
	}
	a.addFlags(cmd, "report", "stats")
	return cmd
}

func readResult(path string) (*result.Result, error) {
	if path == "-" {
		return result.ReadFrom(os.Stdin, "standard input")
	}
	return result.Read(path)
}

// given names arguments that are not one.
func given(args []string) string {
	if len(args) == 0 {
		return "none is"
	}
	return quote.Message(strings.Join(args, " and ")) + " are"
}
