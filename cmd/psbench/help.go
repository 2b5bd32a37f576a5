package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/report"
	"github.com/psbench/psbench/internal/screen"
)

// help prints the description of a command, its subcommands, and its flags by group.
func help(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	p := &screen.Page{Width: widthOf(w)}
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	p.Text(about)
	p.Text("\nUsage:\n  " + cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		p.Text("  " + cmd.CommandPath() + " [command]\n\nCommands:")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() || c.Name() == "help" {
				p.Line(15, fmt.Sprintf("  %-12s %s", c.Name(), c.Short))
			}
		}
	}
	if cmd.HasExample() {
		p.Text("\nExamples:\n" + cmd.Example)
	}
	for _, group := range append(option.Groups, option.Group{Name: "", Title: "Other"}) {
		flags := flagsOf(cmd, group.Name)
		if flags.HasAvailableFlags() {
			p.Text("\n" + group.Title + ":\n" + usages(flags, p.Width))
		}
	}
	_, _ = p.WriteTo(w) // w keeps a write error
}

// usages returns the help lines of flags. If a flag's text begins with its placeholder, usages removes the
// repetition: "--out FOLDER of the sweep".
func usages(flags *pflag.FlagSet, width int) string {
	var out strings.Builder
	for line := range strings.Lines(flags.FlagUsagesWrapped(width)) {
		flag, text, _ := strings.Cut(strings.TrimLeft(line, " "), "   ")
		if words := strings.Fields(flag); strings.HasPrefix(flag, "-") && len(words) > 1 {
			name := words[len(words)-1]
			if rest, again := strings.CutPrefix(strings.TrimLeft(text, " "), name); again &&
				strings.HasPrefix(strings.TrimPrefix(rest, ":"), " ") {
				line = strings.TrimSuffix(line, name+rest) + strings.TrimLeft(rest, ": ")
			}
		}
		out.WriteString(line)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// metricsTopic is a help topic, not a command: psbench help metrics.
func metricsTopic() *cobra.Command {
	topic := &cobra.Command{Use: "metrics", Short: "Explain the rows of the tables (psbench help metrics)"}
	topic.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		w := cmd.OutOrStdout()
		p := &screen.Page{Width: widthOf(w)}
		report.Legend(p)
		_, _ = p.WriteTo(w) // w keeps a write error
	})
	return topic
}

// flagsOf returns the flags of a command in a group of options. The group "" has the flags without a group.
func flagsOf(cmd *cobra.Command, group string) *pflag.FlagSet {
	groups := map[string]string{}
	for _, o := range option.All() {
		groups[o.Flag()] = o.Group
	}
	set := pflag.NewFlagSet(group, pflag.ContinueOnError)
	set.SortFlags = false
	for _, o := range option.All() { // in the order of the options
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

// printf writes to the terminal. It ignores write errors, because psbench could report them nowhere else.
func printf(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// lines joins the lines of an example and indents them.
func lines(l ...string) string { return "  " + strings.Join(l, "\n  ") }

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the commit",
		Args:  noArguments,
		Run: func(*cobra.Command, []string) {
			printf(a.stdout, "psbench %s\n", result.Build())
		},
	}
}
