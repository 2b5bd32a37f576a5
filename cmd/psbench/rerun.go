package main

import (
	"fmt"
	"io"

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
		Short: "Run a recorded experiment again, and show what differs",
		Long: `rerun runs the configuration that a run recorded, with the defaults of that time.
It prints the result, and then the differences from that run: the throughput, the
machine and its load, the programs, and defaults that have changed since. RUN is a
folder written by --out or a file written by --json. PSBENCH_ variables have no
effect, except those of output.`,
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

// outputKeys returns the keys of options that control output: what psbench prints and where it writes.
func outputKeys() (keys []string) {
	for _, o := range option.All() {
		if o.Group == "output" {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// readRecorded reads a run. It returns an error if that run cannot be repeated.
func readRecorded(path string) (*result.Result, error) {
	if folder.IsComm(path) {
		return nil, fmt.Errorf(
			"%s is a result of psbench comm, which rerun cannot repeat: run the command in its result.json again",
			quote.Word(path))
	}
	old, err := readResult(path)
	if err == nil && len(old.Config) == 0 {
		err = fmt.Errorf("%s has no configuration that could be run again", quote.Word(path))
	}
	return old, err
}

// withOutput returns an app that ignores the environment variables of all options except output options.
func (a *app) withOutput() *app {
	return &app{stdout: a.stdout, stderr: a.stderr, environ: config.OutputEnviron(a.environ)}
}

// mergeRerun reads the configuration for a rerun on several hosts.
func (a *app) mergeRerun(cmd *cobra.Command, args []string) (*config.Config, *registry.Registry, error) {
	if args[0] == "-" {
		return nil, nil,
			usagef("rerun - reads standard input, which only one of the hosts has: give a file that all hosts have")
	}
	old, err := readRecorded(args[0])
	if err != nil {
		return nil, nil, err
	}
	return a.withOutput().merge(cmd, config.RecordedLayer(args[0], old.Config))
}

func (a *app) rerun(cmd *cobra.Command, path string) error {
	old, err := readRecorded(path)
	if err != nil {
		return err
	}
	values := old.Config
	if a.team != nil {
		values = config.WithoutDerivedTransport(values)
	}
	only := a.withOutput()
	exp, opts, err := only.resolve(cmd, config.RecordedLayer(path, values))
	if err != nil {
		return err
	}
	return a.runExperiment(cmd.Context(), exp, opts, func(w io.Writer, width int, r *result.Result) error {
		found := append(config.RunDifferences(old, r), only.newDefaults(cmd, path, old)...)
		return report.Rerun(w, path, old, r, found, width)
	})
}

// newDefaults returns the defaults that have changed since the run at path. The rerun itself used the old defaults.
func (a *app) newDefaults(cmd *cobra.Command, path string, old *result.Result) []result.Difference {
	now, _, err := a.resolve(cmd, config.RecordedLayer(path, config.Given(old.Config)))
	if err != nil { // today's defaults contradict the recorded flags
		return []result.Difference{{Name: "defaults", Old: "as recorded", New: err.Error()}}
	}
	return config.DefaultDifferences(old.Config, now.Values)
}
