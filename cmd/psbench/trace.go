package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/record/timeline"
	"github.com/psbench/psbench/core/show/trace"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// mostTraced is the largest number of iterations in a trace if the user does not choose them.
const mostTraced = 100

// traceFlags are the flags of psbench trace.
type traceFlags struct {
	output, iterations, cell string
	round                    int
}

func (a *app) traceCommand() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "trace DIR",
		Short: "Write what each rank of a run did and when, for Perfetto",
		Long: `trace writes the timestamps of a recorded run's ranks as a trace, which ui.perfetto.dev
and chrome://tracing open: a process for each trainer and server, with a thread for its
compute, its buckets on their way, or its work on them, and arrows from push to reply. DIR
is a folder written by --out, a file written by --json, or the folder of a sweep, of which
--cell and --round choose the run.`,
		Example: lines(
			"psbench trace runs/1",
			"psbench trace runs/1 -o first.json --iterations 0..9",
			"psbench trace SWEEP --cell server=average",
		),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("trace takes one folder, but %s given", given(args))
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
			chosen, err := parseIterations(f.iterations)
			if err != nil {
				return err
			}
			path, err := f.run(args[0], cmd.Flags().Changed("cell"), cmd.Flags().Changed("round"))
			if err != nil {
				return err
			}
			return a.trace(path, f.output, chosen)
		},
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "",
		"`FILE` of the trace, by default DIR.trace.json in the current folder; - is standard output")
	cmd.Flags().StringVar(&f.iterations, "iterations", "",
		"iterations, as `A..B` or a single one, counted from 0; otherwise "+strconv.Itoa(mostTraced)+
			" around that whose time is the median, or all")
	cmd.Flags().StringVar(&f.cell, "cell", "", "`CELL` of a sweep, by its values or its ID, as psbench show has them")
	wholeVar(cmd.Flags(), &f.round, "round", 0,
		"`ROUND` of a sweep's run, counted from 0; otherwise the cell's median run")
	return cmd
}

// run returns the path of the run to trace.
func (f *traceFlags) run(path string, cell, round bool) (string, error) {
	if path == "-" || !sweep.IsSweep(path) {
		for name, given := range map[string]bool{"cell": cell, "round": round} {
			if given && !missing(path) {
				return "", usagef("--%s chooses a run of a sweep, but %s is not a sweep", name, quote.Word(path))
			}
		}
		return path, nil
	}
	choice := model.Choice{Cell: f.cell, Round: -1}
	if round {
		choice.Round = f.round
	}
	run, err := choice.Of(path)
	if errors.As(err, new(model.ChoiceError)) {
		err = usageError{err}
	}
	return run, err
}

// trace writes the trace of a run.
func (a *app) trace(path, output string, chosen span) error {
	if folder.IsComm(path) {
		return fmt.Errorf("%s is of psbench comm, which has no iterations: name the folder of a run", quote.Word(path))
	}
	r, err := readResult(path)
	if err != nil {
		return err
	}
	traced := chosen.of(r)
	t, err := timeline.Of(r, traced.from, traced.to)
	if err != nil {
		return fmt.Errorf("%s cannot be traced: %w", quote.Word(path), err)
	}
	if output == "" {
		output = nameAfter(path, "trace", ".trace.json")
	}
	if output == "-" {
		return trace.Write(a.stdout, r, t)
	}
	size, err := draft.Output(output, ".trace.json", []string{path},
		func(w io.Writer) error { return trace.Write(w, r, t) })
	if err != nil {
		return fmt.Errorf("the trace cannot be written to %s: %w", quote.Word(output), draft.Cause(err))
	}
	pass := ""
	if r.Pass == result.WarmUp {
		pass = "the warm-up of " // the run ended before its measured pass
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s of %s%s, %.1f MB; ui.perfetto.dev opens it\n",
		quote.Word(output), traced.describe(timeline.Count(r), chosen == span{}), pass, quote.Word(path),
		float64(size)/1e6)
	return err
}

// span is a range of iterations from from to to, excluding to. The zero span means that the user chose none.
type span struct{ from, to int64 }

// iterationRange matches A..B or A.
var iterationRange = regexp.MustCompile(`^(\d{1,18})(?:\.\.(\d{1,18}))?$`)

func parseIterations(text string) (it span, err error) {
	if text == "" {
		return it, nil
	}
	parts := iterationRange.FindStringSubmatch(text)
	if parts == nil {
		return it, usagef("--iterations is %s but must be A..B, as in 10..20, or a single iteration",
			quote.String(text))
	}
	it.from, _ = strconv.ParseInt(parts[1], 10, 64) // up to 18 digits always fit
	last, _ := strconv.ParseInt(cmp.Or(parts[2], parts[1]), 10, 64)
	if it.to = last + 1; it.from > last {
		return it, usagef("--iterations is %s, but its first iteration must not be after its last one",
			quote.String(text))
	}
	return it, nil
}

// of returns the chosen iterations. By default these are mostTraced iterations of r around the one with the median
// time.
func (it span) of(r *result.Result) span {
	if it != (span{}) {
		return it
	}
	count := timeline.Count(r)
	middle, _ := timeline.MedianIteration(r)
	from := max(0, min(middle-mostTraced/2, count-mostTraced))
	return span{from, min(count, from+mostTraced)}
}

// describe names the iterations of a span in words.
func (it span) describe(count int64, around bool) string {
	switch {
	case it.to-it.from == count:
		return "all " + screen.Count(int(count), "iteration")
	case it.to-it.from == 1:
		return fmt.Sprintf("iteration %d of %d", it.from, count)
	case around:
		return fmt.Sprintf("iterations %d to %d of %d, around the one with the median time,", it.from, it.to-1, count)
	default:
		return fmt.Sprintf("iterations %d to %d of %d", it.from, it.to-1, count)
	}
}
