package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/core/study/words"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// comparing is what the flags of compare say.
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
		Short: "Say what became faster or slower, and what only seems so",
		Long: `compare judges runs cell by cell: old and new median, the change with its interval,
and p. ~ stands where the runs prove no change. OLD and NEW are sweeps, folders that
run --out left or files that --json left, of any version; -- parts several of each.
One sweep alone is compared within itself, along --axis.

Cells of a sweep were measured in one session, in random order, and are judged against
its A/A cell. What was measured apart is judged against changes between sessions: those
that psbench noise --sessions measured on this machine, else --session-noise.

--fail-above exits with status 1 if a cell is proven worse by more than that, and with 3
if that cannot be told of one. docs/statistics.md explains all numbers.`,
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
		"`NAME` of what is compared, by default that of the sweeps, or throughput; of psbench comm comm_time")
	flags.StringVar(&o.axis, "axis", "build", "`NAME` of the axis along which one sweep is compared")
	flags.Var(&o.failAbove, "fail-above",
		"exit with status 1 if a cell is proven worse by more than this, with 3 if that cannot be told")
	o.mostFailed.add(cmd)
	flags.Var(&o.sessionNoise, "session-noise",
		"what changes between sessions, for runs measured apart where psbench noise has not measured it")
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
	c, err := a.comparison(cmd, old, fresh, o)
	if err != nil {
		return err
	}
	if err := words.WriteComparison(a.stdout, c, widthOf(a.stdout)); err != nil {
		return err
	}
	if !o.failAbove.given {
		return nil
	}
	return failAbove(c, o.failAbove)
}

// sides parts the arguments; fresh is empty where a sweep is compared within itself.
func sides(args []string, dash int) (old, fresh []string, err error) {
	switch {
	case dash >= 0 && (dash == 0 || dash == len(args)):
		return nil, nil, usagef("compare takes runs before and after --, but there are none on one side")
	case dash > 0:
		return args[:dash], args[dash:], nil
	case len(args) == 1:
		return args, nil, nil
	case len(args) == 2:
		return args[:1], args[1:], nil
	}
	return nil, nil, usagef("compare takes OLD and NEW, OLD... -- NEW..., or one sweep, but %s given", given(args))
}

// present refuses paths at which nothing is: a verdict on the rest would not be what was asked for.
func present(paths []string) error {
	for _, path := range paths {
		_, err := os.Stat(path)
		switch {
		case err != nil && strings.HasPrefix(path, "-"):
			return usagef("after -- there are runs only, but %s is none: flags come before", quote.String(path))
		case err != nil:
			return fmt.Errorf("%s cannot be compared: %w", quote.Word(path), draft.Cause(err))
		}
	}
	return nil
}

func (a *app) comparison(cmd *cobra.Command, old, fresh []string, o comparing) (*verdict.Comparison, error) {
	before, err := o.mostFailed.loader().Load(old)
	if err != nil {
		return nil, err
	}
	if fresh == nil {
		metric, err := model.MetricFor(o.metric, before)
		if err != nil {
			return nil, err
		}
		return verdict.Along(before, o.axis, metric)
	}
	after, err := o.mostFailed.loader().Load(fresh)
	if err != nil {
		return nil, err
	}
	metric, err := model.MetricFor(o.metric, before, after)
	if err != nil {
		return nil, err
	}
	apart := verdict.Apart{
		Floor:   judge.Floor{Change: o.sessionNoise.share},
		Against: "what may change between sessions, by --session-noise; psbench noise --sessions measures it",
	}
	if !cmd.Flags().Changed("session-noise") {
		measured, ok, err := a.measuredNoise(metric.Name, before, after)
		if err != nil {
			return nil, err
		}
		if ok {
			apart = measured
		}
	}
	return verdict.Compare(before, after, metric, apart)
}

// measuredNoise is what psbench noise measured between sessions on the machine of both studies.
func (a *app) measuredNoise(metric string, studies ...*model.Study) (apart verdict.Apart, ok bool, err error) {
	path := noiseFile(a.environ)
	if _, err := os.Stat(path); err != nil {
		return apart, false, nil // nobody measured it
	}
	n, err := verdict.ReadNoise(path)
	if err != nil {
		return apart, false, err
	}
	apart, ok = n.Apart(metric, studies...)
	return apart, ok, nil
}

// noiseFile is where psbench noise leaves what it measured for compare: beside the user's registry.
// It is "" for a user without a home.
func noiseFile(environ []string) string {
	user := registry.UserFile(environ)
	if user == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(user), noiseName)
}

// failAbove is the error that --fail-above asks for, nil if no cell is that much worse.
func failAbove(c *verdict.Comparison, above percentage) error {
	proven, open := c.Fails(above.share)
	switch {
	case len(proven) > 0:
		return fmt.Errorf("%s is proven worse by more than %s in %d of %d: %s",
			c.Metric.Name, above.String(), len(proven), len(c.Rows)+len(c.Lost), strings.Join(proven, ", "))
	case len(open) > 0:
		return undecidedError{fmt.Errorf("whether %s is worse by more than %s cannot be told of %d of %d: %s",
			c.Metric.Name, above.String(), len(open), len(c.Rows)+len(c.Lost), strings.Join(open, ", "))}
	}
	return nil
}

// undecidedError is a question that the runs do not answer.
type undecidedError struct{ error }
