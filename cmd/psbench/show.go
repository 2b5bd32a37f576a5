package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/comm"
	"github.com/psbench/psbench/core/show/report"
	"github.com/psbench/psbench/internal/quote"
)

func (a *app) showCommand() *cobra.Command {
	var many studyFlags
	var pictures picturesFlag
	cmd := &cobra.Command{
		Use:   "show DIR|FILE...",
		Short: "Print the tables of a run, or the answer of a sweep, from what they left",
		Long: `show prints what a run printed at its end, from the folder that it left with --out or the
file that it left with --json: its tables and the answer, as --report and --stats say. The
tables, throughput and evaluation are computed again from what was recorded.
Of psbench comm it takes folders. A file may be compressed; - is standard input. Both may be
of an older psbench.

Of the folder of a sweep, or of several runs, it prints a table of the cells, and what they come to
in sentences: which combination wins, how surely, at what loss, and what limits it.

On a terminal a picture stands before that: how long the iterations of a run took, or how
the cells scale over an axis of numbers.`,
		Example: lines(
			"psbench show runs/1",
			"psbench show run.json",
			"psbench show run.json.gz --report full",
			"psbench show SWEEP --target auc=0.80",
			"psbench show runs/* --metric time_per_batch",
		),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("show takes a folder or a file, but none is given")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault // folders and files
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := config.Merge(config.Sources{Environ: a.environ, Flags: cmd.Flags()})
			if err != nil {
				return err
			}
			if err := many.check(cmd.Flags(), args); err != nil {
				return err
			}
			pictures.given = cmd.Flags().Changed("pictures")
			if isStudy(args) {
				return a.showStudy(args, many, pictures)
			}
			return a.show(args[0], pictures, report.Options{Report: c.Report, Stats: c.Stats, Width: widthOf(a.stdout)})
		},
	}
	a.addFlags(cmd, "report", "stats")
	many.add(cmd)
	cmd.Flags().BoolVar(&pictures.on, "pictures", false, "draw pictures into a file or a pipe, too; --pictures=false draws none on a terminal")
	return cmd
}

// show prints the tables of a recorded run.
func (a *app) show(path string, pictures picturesFlag, o report.Options) error {
	if folder.IsComm(path) {
		r, err := micro.ReadFolder(path)
		if err != nil {
			return err
		}
		return comm.Text(a.stdout, r, o)
	}
	r, err := readResult(path)
	if err != nil {
		return err
	}
	if err := a.drawRun(r, pictures); err != nil {
		return err
	}
	return report.Text(a.stdout, r, o)
}

func readResult(path string) (*result.Result, error) {
	if path == "-" {
		return result.ReadFrom(os.Stdin, "standard input")
	}
	return folder.Read(path)
}

// given names arguments that are not one.
func given(args []string) string {
	if len(args) == 0 {
		return "none is"
	}
	return quote.Message(strings.Join(args, " and ")) + " are"
}
