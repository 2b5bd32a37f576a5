package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/words"
)

// studyFlags are the flags of what shows many runs.
type studyFlags struct {
	metric, target string
	mostFailed     mostFailed
}

func (f *studyFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.metric, "metric", "", "`METRIC` that cells of a sweep, or many runs, are compared by; otherwise that of the sweep, or the throughput")
	cmd.Flags().StringVar(&f.target, "target", "", "`METRIC=VALUE` whose price in seconds and bytes is told, e.g. auc=0.80 or held_out_loss=0.3")
	f.mostFailed.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("metric", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, m := range model.Metrics {
			names = append(names, m.Name+"\t"+m.Means)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.RegisterFlagCompletionFunc("target", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"auc=", "accuracy=", "held_out_loss="}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// isStudy says whether paths are a sweep, or several runs.
func isStudy(paths []string) bool { return len(paths) > 1 || sweep.IsSweep(paths[0]) }

// check refuses flags that mean nothing for what is shown.
func (f *studyFlags) check(flags *pflag.FlagSet, paths []string) error {
	many := isStudy(paths)
	for name, ofMany := range map[string]bool{"metric": true, "target": true, mostFailedFlag: true, "report": false, "stats": false} {
		switch {
		case !flags.Changed(name) || ofMany == many:
		case ofMany && missing(paths[0]):
			return nil // which is what there is to say
		case ofMany:
			return usagef("--%s is for a sweep or many runs, but only %s given", name, strings.Replace(given(paths), " are", " is", 1))
		default:
			return usagef("--%s is for one run, but a sweep or many runs are given", name)
		}
	}
	return nil
}

// missing says that nothing is at a path.
func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) && path != "-"
}

// showStudy prints the cells of a sweep, or of many runs, and what they come to.
func (a *app) showStudy(paths []string, f studyFlags, pictures picturesFlag) error {
	s, err := f.mostFailed.loader().Load(paths)
	if err != nil {
		return err
	}
	if err := a.drawStudy(s, f.metric, pictures); err != nil {
		return err
	}
	return words.WriteStudy(a.stdout, s, words.Options{Metric: f.metric, Target: f.target, Width: widthOf(a.stdout)})
}
