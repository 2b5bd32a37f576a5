package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/measure/conformance"
	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/show/progress"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/sdk"
)

func (a *app) pluginCheckCommand() *cobra.Command {
	var ranksDiffer, denseOnly bool
	var refused []string
	var largest int
	var format, expect string
	cmd := &cobra.Command{
		Use:   "check PATH [KEY] [-- ARGUMENT...]",
		Short: "Check a plugin against the contract of its parts",
		Long: `check makes small runs with each part of the plugin at PATH, or with the parts named
KEY. In them psbench's own trainer tries the points of the contract on the part, or
psbench watches it. check needs no registry; --registry adds other parts, such as the
model for the plugin's data. A --set goes to the parts that have the setting. A point
that is not tried has a line with the reason.

check compares every element that a hook or a server of gradients answers with the
answer that it declares; --expect gives the answer of a part that declares none.`,
		Example: lines(
			"psbench plugin check ./mine-plugin",
			"psbench plugin check ./mine-plugin median",
			"psbench plugin check ./mine-plugin median -- --verbose",
			"psbench plugin check ./mine-plugin median --expect any",
			"psbench plugin check ./mine-plugin mine --set hook.k=3 --refuses hook.k=-1",
		),
		Args: func(cmd *cobra.Command, args []string) error {
			if before, _ := atDash(cmd, args); len(before) < 1 || len(before) > 2 {
				return usagef("plugin check takes the path of a plugin and perhaps a key, but %d arguments are given; put arguments of the plugin after --",
					len(before))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := choose("format", []string{format}, checkFormats); err != nil {
				return usageError{err}
			}
			before, after := atDash(cmd, args)
			path, err := filepath.Abs(before[0])
			if err != nil {
				return err
			}
			defer interrupt.Hold(cmd.Context())()
			printed := progress.New(a.stderr, a.terminal(a.stderr), true)
			defer printed.Done()
			o := a.runOptions(run.Silent)
			o.Output = launch.Output{Line: printed.Line}
			check := &conformance.Check{
				Program: append([]string{path}, after...), Registry: psbench.Registry, Catalogue: catalogue, Run: o,
				Out: a.stdout, Width: widthOf(a.stdout),
				Configuration: config.Sources{Flags: cmd.Flags()}, RanksDiffer: ranksDiffer, DenseOnly: denseOnly,
				Expect: sdk.Answers(expect), Refused: refused, Largest: largest, Model: cmd.Flags().Changed("model"),
				JSON: format == "json",
			}
			if len(before) == 2 {
				check.Key = before[1]
			}
			return check.Carry(cmd.Context())
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	a.addFlags(cmd, "set", "model", "registry", "transport", "listen", "interface", "rpc_timeout")
	cmd.Flags().BoolVar(&ranksDiffer, "ranks-differ", false, "hooks and servers may leave ranks with different results")
	cmd.Flags().StringArrayVar(&refused, "refuses", nil,
		"`kind.setting=value` that a part of the kind must refuse; may be repeated")
	wholeVar(cmd.Flags(), &largest, "largest-batch", 0,
		"`samples` of the largest batch, for a model that is too slow for 1031 (0: as many as the points say)")
	cmd.Flags().BoolVar(&denseOnly, "dense-only", false, "hooks and servers are not made for sparse gradients")
	cmd.Flags().StringVar(&expect, "expect", "",
		"`ANSWER` of hooks and servers, instead of the declared one: mean, sum, own, \"as KEY\" of a built-in part, or any (not compared)")
	cmd.Flags().StringVar(&format, "format", checkFormats[0],
		"`FORMAT` of the output: text, or json, a line for each point, without the speed")
	_ = cmd.RegisterFlagCompletionFunc("expect",
		cobra.FixedCompletions([]string{"mean", "sum", "own", "any"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("format",
		cobra.FixedCompletions(checkFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var checkFormats = []string{"text", "json"}
