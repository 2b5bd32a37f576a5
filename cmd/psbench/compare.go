package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/core/study/words"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// comparing has the values of compare's flags.
type comparing struct {
	metric, axis string
	failAbove    percentage
	sessionNoise percentage
	mostFailed   mostFailed
}

func (a *app) compareCommand() *cobra.Command {
	o := comparing{sessionNoise: percentage{share: 0.05}}
	cmd := &cobra.Command{
		Use:   "compare OLD NEW | OLD... -- NEW... | SWEEP",
		Short: "Compare runs and say which differences are proven",
		Long: `compare judges runs cell by cell: old and new median, the change with its interval,
and p. A ~ marks a cell for which the runs prove no change. OLD and NEW are sweeps,
folders written by run --out or files written by --json, of any version; -- separates
several of each. One sweep alone is compared within itself, along --axis.

The cells of a sweep were measured in one session, in random order, and are judged
against its A/A cell. Runs that were measured apart are judged against the changes
between sessions that psbench noise --sessions measured on this machine, or else against
--session-noise.

--fail-above exits with status 1 if a cell is proven worse by more than that, and with 3
if the runs of a cell cannot tell. docs/statistics.md explains all numbers.`,
		Example: lines(
			"psbench compare old new",
			"psbench compare --metric time_per_batch old/*.json -- new/*.json",
			"psbench compare builds --axis build --fail-above 5%",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.compare(cmd, args, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.metric, "metric", "",
		"`NAME` of the metric; by default the metric of the sweeps, or throughput, or comm_time for psbench comm")
	flags.StringVar(&o.axis, "axis", "build", "`NAME` of the axis to compare one sweep along")
	flags.Var(&o.failAbove, "fail-above",
		"exit with status 1 if a cell is proven worse by more than this, with 3 if the runs cannot tell")
	o.mostFailed.add(cmd)
	flags.Var(&o.sessionNoise, "session-noise",
		"change between sessions, for runs that were measured apart; psbench noise measures a better value")
	_ = cmd.RegisterFlagCompletionFunc("metric",
		cobra.FixedCompletions(model.MetricNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) compare(cmd *cobra.Command, args []string, o comparing) error {
	old, fresh, err := sides(args, cmd.ArgsLenAtDash())
	if err != nil {
		return err
	}
	if err := present(slices.Concat(old, fresh)); err != nil {
		return err
	}
	if o.metric != "" {
		if _, err := model.MetricOf(o.metric); err != nil {
			return usageError{fmt.Errorf("--metric: %w", err)}
		}
	}
	q := verdict.Question{Old: old, New: fresh, Axis: o.axis, Metric: o.metric, SessionNoise: o.sessionNoise.share}
	if !cmd.Flags().Changed("session-noise") {
		q.NoiseFile = verdict.NoiseFile(a.environ)
	}
	c, err := q.Ask(o.mostFailed.loader())
	if err != nil {
		return err
	}
	if err := words.WriteComparison(a.stdout, c, widthOf(a.stdout)); err != nil {
		return err
	}
	if !o.failAbove.given {
		return nil
	}
	return c.FailAbove(o.failAbove.share, o.failAbove.String())
}

// sides splits the arguments into both sides of the comparison. The result fresh is nil if a single sweep is compared
// within itself.
func sides(args []string, dash int) (old, fresh []string, err error) {
	switch {
	case dash >= 0 && (dash == 0 || dash == len(args)):
		return nil, nil, usagef("compare takes runs before and after --, but one side has none")
	case dash > 0:
		return args[:dash], args[dash:], nil
	case len(args) == 1:
		return args, nil, nil
	case len(args) == 2:
		return args[:1], args[1:], nil
	}
	return nil, nil, usagef("compare takes OLD and NEW, OLD... -- NEW..., or one sweep, but %s given", given(args))
}

// present refuses paths that do not exist, because a verdict on the remaining paths would answer another question.
func present(paths []string) error {
	for _, path := range paths {
		_, err := os.Stat(path)
		switch {
		case err != nil && strings.HasPrefix(path, "-"):
			return usagef("only runs may follow --, but %s is not a run: put flags before --", quote.String(path))
		case err != nil:
			return fmt.Errorf("%s cannot be compared: %w", quote.Word(path), draft.Cause(err))
		}
	}
	return nil
}
