package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/config/option"
)

// help prints what a command is, its subcommands and its flags by group.
func help(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	printf(w, "%s\n\nUsage:\n  %s\n", about, cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		printf(w, "  %s [command]\n\nCommands:\n", cmd.CommandPath())
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				printf(w, "  %-12s %s\n", c.Name(), c.Short)
			}
		}
	}
	if cmd.HasExample() {
		printf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, group := range append(option.Groups, option.Group{Name: "", Title: "Other"}) {
		flags := flagsOf(cmd, group.Name)
		if flags.HasAvailableFlags() {
			printf(w, "\n%s:\n%s", group.Title, flags.FlagUsages())
		}
	}
}

// flagsOf are the flags of a command that are in a group of options, or those
// in none.
func flagsOf(cmd *cobra.Command, group string) *pflag.FlagSet {
	groups := map[string]string{}
	for _, o := range option.All() {
		groups[o.Flag()] = o.Group
	}
	set := pflag.NewFlagSet(group, pflag.ContinueOnError)
	set.SortFlags = false
	for _, o := range option.All() { // in their order
		if f := cmd.Flags().Lookup(o.Flag()); f != nil && o.Group == group {
			set.AddFlag(f)
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if groups[f.Name] == group && set.Lookup(f.Name) == nil {
			set.AddFlag(f)
		}
	})
	return set
}

// printf writes to the terminal, where a failure can be reported no better.
func printf(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// lines joins the lines of an example.
func lines(l ...string) string { return "  " + strings.Join(l, "\n  ") }
