package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/report"
	"github.com/psbench/psbench/internal/quote"
)

func (a *app) rerunCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rerun RUN",
		Short: "Run the experiment of a recorded run again, and say what differs",
		Long: `rerun carries out the configuration that a run recorded, defaults of its time
included, and prints the result and then what differs from that run: the
throughput, the machine and what it was busy with, the programs, and values that
have another default now. RUN is what --out or --json left. PSBENCH_ variables
count only where they say what is printed, and where output goes.`,
		Example: lines("psbench rerun run.json", "psbench rerun run.json --json again.json --report summary"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("rerun takes one run, but %s given", given(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.rerun(cmd, args[0]) },
	}
	a.addFlags(cmd, outputKeys()...)
	return cmd
}

// outputKeys are the options that say what is printed, and where output goes.
func outputKeys() (keys []string) {
	for _, o := range option.All() {
		if o.Group == "output" {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// readRecorded is a run that can be run again.
func readRecorded(path string) (*result.Result, error) {
	if folder.IsComm(path) {
		return nil, fmt.Errorf(
			"%s is of psbench comm, but rerun repeats runs: give its command again, which is in its result.json",
			quote.Word(path))
	}
	old, err := readResult(path)
	if err == nil && len(old.Config) == 0 {
		err = fmt.Errorf("%s has no configuration that could be run again", quote.Word(path))
	}
	return old, err
}

// recorded is the layer of values of the run at a path.
func recorded(path string, values []result.Value) config.Layer {
	return config.Layer{Origin: quote.Word(path), Values: config.File(values)}
}

// withOutput is psbench without the variables of options but those that say what becomes of output.
func (a *app) withOutput() *app {
	return &app{stdout: a.stdout, stderr: a.stderr, environ: outputVariables(a.environ)}
}

// mergeRerun reads the configuration that is to be run again, before that on several hosts.
func (a *app) mergeRerun(cmd *cobra.Command, args []string) (*config.Config, *registry.Registry, error) {
	if args[0] == "-" {
		return nil, nil,
			usagef("rerun - reads standard input, which there is once, but several hosts run this: give a file that all of them have")
	}
	old, err := readRecorded(args[0])
	if err != nil {
		return nil, nil, err
	}
	return a.withOutput().merge(cmd, recorded(args[0], old.Config))
}

func (a *app) rerun(cmd *cobra.Command, path string) error {
	old, err := readRecorded(path)
	if err != nil {
		return err
	}
	values := old.Config
	if a.team != nil { // where a transport that was left to psbench may be another
		values = slices.DeleteFunc(slices.Clone(values),
			func(v result.Value) bool { return v.Key == config.Transport && config.Derived(v) })
	}
	only := a.withOutput()
	exp, opts, err := only.resolve(cmd, recorded(path, values))
	if err != nil {
		return err
	}
	return a.runExperiment(cmd.Context(), exp, opts, func(w io.Writer, width int, r *result.Result) error {
		found := slices.DeleteFunc(result.Differences(old, r), func(d result.Difference) bool {
			variable, is := strings.CutPrefix(d.Name, "variable ")
			_, known := optionOf(variable)
			return is && known // which the configuration has, and told nothing here
		})
		found = append(found, renamed("configuration ", config.Differences(old.Config, r.Config))...)
		found = append(found, only.newDefaults(cmd, old, recorded(path, config.Given(old.Config)))...)
		return report.Rerun(w, path, old, r, found, width)
	})
}

// newDefaults are the defaults that differ from those of an older run, which was repeated with
// its own. The layer has what is no default.
func (a *app) newDefaults(cmd *cobra.Command, old *result.Result, given config.Layer) []result.Difference {
	now, _, err := a.resolve(cmd, given)
	if err != nil { // as they do not go with what is given
		return []result.Difference{{Name: "defaults", Old: "as recorded", New: err.Error()}}
	}
	changed := slices.DeleteFunc(config.Differences(old.Config, now.Values), func(d result.Difference) bool {
		return d.Old == "none" || d.New == "none" // no default then, or not known until a run decides it
	})
	return renamed("default of ", changed)
}

// renamed puts a prefix before the names of differences.
func renamed(prefix string, differences []result.Difference) []result.Difference {
	for i := range differences {
		differences[i].Name = prefix + differences[i].Name
	}
	return differences
}

// outputVariables are the variables of an environment without those of psbench's options, but for
// the options of output.
func outputVariables(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		o, known := optionOf(name)
		return known && o.Group != "output"
	})
}

// optionOf is the option that a variable of the environment gives.
func optionOf(variable string) (option.Option, bool) {
	key, ours := strings.CutPrefix(variable, option.EnvPrefix)
	o, known := option.Of(strings.ToLower(key))
	return o, ours && known
}
