package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/show/page"
	"github.com/psbench/psbench/core/show/view"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/words"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

func (a *app) reportCommand() *cobra.Command {
	var many studyFlags
	var output string
	cmd := &cobra.Command{
		Use:   "report DIR|FILE...",
		Short: "Write a page of a run or a sweep, for any browser",
		Long: `report writes one HTML file of recorded runs, which a browser opens without a network. The file has
the answer, a table of the cells to sort, filter and compare, pictures, and all details of the runs.
report takes the folder of a sweep, folders written by --out, files written by --json, and folders of
psbench comm. All of them become one page.`,
		Example: lines(
			"psbench report SWEEP",
			"psbench report runs/1 -o run.html",
			"psbench report runs/* --metric time_per_batch",
			"psbench report SWEEP --target auc=0.80",
		),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("report takes the folder of a sweep, or folders and files of runs, but none is given")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault // files and folders
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(cmd.Flags()); err != nil {
				return err
			}
			return a.report(args, output, many)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "",
		"`FILE` of the page, by default DIR.html in the current folder; - is standard output")
	many.add(cmd)
	return cmd
}

// report writes the page of the given runs or of the given sweep.
func (a *app) report(paths []string, output string, f studyFlags) error {
	if err := (words.Options{Metric: f.metric, Target: f.target}).Check(); err != nil {
		return err
	}
	s, err := f.mostFailed.loader().Load(paths)
	if err != nil {
		return err
	}
	d, err := view.Of(s, view.Options{Metric: f.metric, Target: f.target})
	if err != nil {
		return err
	}
	failed, cells := 0, 0
	for _, c := range d.Cells {
		failed += len(c.Failed)
		if !c.Again { // the A/A cell repeats the baseline
			cells++
		}
	}
	if len(d.Runs)+failed == 0 {
		return fmt.Errorf("nothing to report: no run of %s has finished",
			quote.Message(strings.Join(paths, ", ")))
	}
	if output == "-" {
		return page.Write(a.stdout, d)
	}
	if output == "" {
		output = reportName(paths)
	}
	size, err := draft.Output(output, ".html", paths, func(w io.Writer) error { return page.Write(w, d) })
	if err != nil {
		return fmt.Errorf("the page cannot be written to %s: %w", quote.Word(output), draft.Cause(err))
	}
	for _, text := range unread(s) {
		printf(a.stderr, "psbench: warning: %s\n", quote.Message(text))
	}
	runs := screen.Count(len(d.Runs), "run")
	if failed > 0 {
		runs += fmt.Sprintf(" and %d that failed,", failed)
	}
	if s.OneRun() {
		runs = "1 run"
	} else {
		runs += " of " + screen.Count(cells, "cell")
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s, %.1f MB; any browser opens it\n", quote.Word(output), runs,
		float64(size)/1e6)
	return err
}

// unread returns a warning for each given run that is missing on the page.
func unread(s *model.Study) []string {
	if s.Folder != "" { // the page already has a sweep's warnings, which concern its plan
		return nil
	}
	return s.Warnings
}

// reportName returns the default file name of a page.
func reportName(paths []string) string {
	if len(paths) > 1 {
		return "report.html"
	}
	return nameAfter(paths[0], "report", ".html")
}
