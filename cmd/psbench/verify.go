package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/core/report"
	"github.com/psbench/psbench/core/run"
	"github.com/psbench/psbench/core/verify"
	"github.com/psbench/psbench/sdk"
)

func (a *app) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [FILE...]",
		Short: "Compare runs with reference cases",
		Long: `verify runs reference cases through real plugin processes and compares what
they computed with what their files expect. Without files it runs the cases
that psbench carries. A model, server, hook or trainer that is given takes the
place of the cases' own; cases that it does not fit are skipped, with the reason.`,
		Example: lines(
			"psbench verify",
			"psbench verify --transport tcp",
			"psbench verify --isolate all",
			"psbench verify --set trainer.bucket_bytes=512",
			"psbench verify my_case.json",
			"psbench verify --registry mine.json --server mine",
		),
		RunE: func(cmd *cobra.Command, files []string) error {
			cases, err := loadCases(files)
			if err != nil {
				return err
			}
			chosen, err := a.chosenParts(cmd)
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
			return verify.Run(cmd.Context(), cases, chosen, resolve, o, a.stdout)
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	a.addFlags(cmd, "model", "server", "ddp_hook", "trainer", "set", "transport", "listen", "isolate", "registry", "no_user_registry", "rpc_timeout")
	return cmd
}

// chosenParts are the parts that the command line chooses.
func (a *app) chosenParts(cmd *cobra.Command) (chosen verify.Substitutes, err error) {
	_, reg, err := a.merge(cmd)
	if err != nil {
		return chosen, err
	}
	plain := a.verifyCommand() // chooses nothing
	plain.SetContext(cmd.Context())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		kind, part := substitutable[f.Name]
		switch list, ok := f.Value.(pflag.SliceValue); {
		case part:
			chosen.Kinds = append(chosen.Kinds, kind)
			if _, unknown := reg.Lookup(kind, f.Value.String()); unknown != nil && err == nil {
				err = fmt.Errorf("--%s: %w", f.Name, unknown)
			}
		case f.Name == "set": // of the parts that are chosen
		case ok:
			for _, v := range list.GetSlice() {
				_ = plain.Flags().Set(f.Name, v) // as it was set before
			}
		default:
			_ = plain.Flags().Set(f.Name, f.Value.String())
		}
	})
	chosen.Own = func(l config.Layer) (*config.Experiment, error) {
		exp, _, err := a.resolve(plain, l)
		return exp, err
	}
	return chosen, err
}

// substitutable are the kinds of parts that verify takes, by flag.
var substitutable = map[string]sdk.Kind{
	"model": sdk.KindModel, "server": sdk.KindServer, "ddp-hook": sdk.KindHook, "trainer": sdk.KindTrainer,
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
