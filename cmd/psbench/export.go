package main

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/show/export"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/quote"
)

func (a *app) exportCommand() *cobra.Command {
	var format, metrics string
	formats := exportFormats()
	cmd := &cobra.Command{
		Use:   "export PATH...",
		Short: "Write recorded runs as CSV, JSON lines, Markdown or Go benchmarks",
		Long: `export writes recorded runs to standard output for other programs: a sweep, or any
number of folders written by --out and files written by --json. csv and jsonl have a row
for each run and metric, with all values of the configuration, those of a sweep's axes
first. markdown has a row for each run, with what differs between them. gobench is the
format of Go's benchmarks, which benchstat reads, with the direction that is better.
For psbench comm it takes folders. Incomplete runs are left out, and standard error says
so.`,
		Example: lines(
			"psbench export sweep >runs.csv",
			"psbench export --format gobench runs/1 runs/2 | benchstat -",
			"psbench export --format markdown --metric throughput,time_per_batch sweep",
		),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("export takes the folder of a sweep, or folders and files of runs, but none is given")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := choose("format", []string{format}, formats)
			if err != nil {
				return usageError{err}
			}
			s, err := model.Load(args)
			if err != nil {
				return err
			}
			t := &export.Table{}
			t.Add(s)
			if cmd.Flags().Changed("metric") {
				if err := t.Only(strings.Split(metrics, ",")); err != nil {
					return usageError{err}
				}
			}
			for _, w := range t.Warnings {
				_, _ = fmt.Fprintf(a.stderr, "psbench: %s\n", quote.Lines(w))
			}
			if len(t.Rows) == 0 {
				return fmt.Errorf("nothing to export: no finished run of %s has a value",
					quote.Message(strings.Join(args, ", ")))
			}
			out := bufio.NewWriter(a.stdout)
			if err := export.Formats[slices.Index(formats, chosen[0])].Write(t, out); err != nil {
				return err
			}
			return out.Flush()
		},
	}
	cmd.Flags().StringVar(&format, "format", formats[0], "`FORMAT`: "+strings.Join(formats, ", "))
	cmd.Flags().StringVar(&metrics, "metric", "", "metrics, as a `LIST`; by default all metrics of the runs")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func exportFormats() []string {
	var names []string
	for _, f := range export.Formats {
		names = append(names, f.Name)
	}
	return names
}
