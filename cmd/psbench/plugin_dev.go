package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/author/develop"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/plugins"
)

func (a *app) pluginDevCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "dev DIR -- FLAGS...",
		Short: "Build and run a plugin anew whenever its source changes",
		Long: `dev builds the plugin whose source is in DIR, as go build does, accepts its
checksum, as psbench plugin add does, and runs psbench with FLAGS. It does so
again after each change of the source: the files that go build reads and embeds,
go.mod and go.sum, in DIR and the folders below it, without tests. A plugin in
Python is not built; its source is the .py files there. A change is over once
the files are the same for 0.2 s. A change during a build or a run ends it, and
the next one begins. dev reports a failed build or run and waits for the next
change. Ctrl-C ends it.`,
		Example: lines("psbench plugin dev ./median -- --server median --epochs 1"),
		Args: func(cmd *cobra.Command, args []string) error {
			if before, _ := atDash(cmd, args); len(before) != 1 {
				return usagef("plugin dev takes one folder, but %s given; flags of the run follow --", given(before))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := a.userRegistry()
			if err != nil {
				return err
			}
			program, err := develop.Program(args[0])
			if err != nil {
				return err
			}
			release, err := develop.Claim(args[0])
			if err != nil {
				return err
			}
			defer release()
			// Every step ends on its own or when its context ends.
			ctx := cmd.Context()
			defer interrupt.Hold(ctx)()
			defer interrupt.Bounded(ctx)()
			d := development{app: a, dir: args[0], program: program, registry: path, flags: args[1:]}
			return develop.Loop{Dir: args[0], Program: program, Turn: d.turn}.Run(ctx)
		},
		ValidArgsFunction: func(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
}

// development is a plugin that psbench rebuilds and reruns after each change.
type development struct {
	*app
	dir, program, registry string
	flags                  []string
	turns                  int
}

// turn builds the plugin, accepts its new checksum, and starts a run.
func (d *development) turn(ctx context.Context) {
	doing := "building"
	if develop.IsScript(d.program) {
		doing = "running"
	}
	if d.turns++; d.turns == 1 {
		d.say("%s %s", doing, quote.Word(d.dir))
	} else {
		d.say("%s has changed, %s it anew", quote.Word(d.dir), doing)
	}
	err := d.once(ctx)
	switch {
	case ctx.Err() != nil:
		return // the user stopped the build
	case err != nil:
		d.say("%s", quote.Lines(err.Error()))
	}
	d.say("waiting for a change of %s; Ctrl-C ends this", quote.Word(d.dir))
}

func (d *development) once(ctx context.Context) error {
	if err := develop.Build(ctx, d.dir, d.program, os.Stderr); err != nil {
		return fmt.Errorf("%s cannot be built: %w", quote.Word(d.dir), err)
	}
	addition := registry.Addition{Command: []string{d.program}, Ask: launch.Describe, Internal: plugins.Internal()}
	if _, _, err := registry.Add(ctx, d.registry, psbench.Registry, addition); err != nil {
		return err
	}
	// A failed run has already printed its error.
	_ = develop.Psbench(ctx, append([]string{os.Args[0], "run"}, d.flags...), os.Stdout, os.Stderr)
	return nil
}

func (d *development) say(format string, args ...any) {
	printf(d.stderr, "psbench: "+format+"\n", args...)
}
