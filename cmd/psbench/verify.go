package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/core/report"
	"github.com/psbench/psbench/core/run"
	"github.com/psbench/psbench/core/verify"
)

func (a *app) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [FILE...]",
		Short: "Compare runs with reference cases",
		Long: `verify runs reference cases through real plugin processes and compares what
they computed with what their files expect. Without files it runs the cases
that psbench carries.`,
		Example: lines(
			"psbench verify",
			"psbench verify --transport tcp",
			"psbench verify --isolate all",
			"psbench verify --set trainer.bucket_bytes=512",
			"psbench verify my_case.json",
		),
		RunE: func(cmd *cobra.Command, files []string) error {
			cases, err := loadCases(files)
			if err != nil {
				return err
			}
			resolve := func(l config.Layer) (*config.Experiment, error) {
				exp, _, err := a.resolve(cmd, l)
				return exp, err
			}
			defer hold(cmd.Context())()
			printed := report.NewProgress(a.stderr, a.terminal(a.stderr), true)
			defer printed.Done()
			o := a.runOptions(run.Silent)
			o.Output = launch.Output{Line: printed.Line}
			return verify.Run(cmd.Context(), cases, resolve, o, a.stdout)
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	a.addFlags(cmd, "set", "transport", "listen", "isolate", "registry", "rpc_timeout")
	return cmd
}

// loadCases reads all files before the first case runs.
func loadCases(files []string) ([]verify.Case, error) {
	if len(files) == 0 {
		return verify.Embedded()
	}
	var cases []verify.Case
	for _, file := range files {
		c, err := verify.Load(file)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func (a *app) runOptions(p run.Progress) run.Options {
	return run.Options{Command: os.Args, StartedNS: startedNS, Progress: p}
}
