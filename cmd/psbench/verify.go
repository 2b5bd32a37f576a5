package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/measure/verify"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/process/launchers/delivery"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/progress"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

func (a *app) verifyCommand() *cobra.Command {
	var record, device string
	cmd := &cobra.Command{
		Use:   "verify [FILE...]",
		Short: "Compare runs with reference cases",
		Long: `verify runs reference cases through real plugin processes and compares their
results with those that their files expect. Without files it runs the cases that
psbench carries. A given model, server, hook or trainer takes the place of the
cases' own; cases that it does not fit are skipped, with the reason.

With --device cuda each case runs on CUDA devices, in every placement of its
trainers and servers that the rules allow; with --backend nccl only in placements
that have all trainers there.

With --record it runs the configuration of --config instead, twice, and writes
the result as a case.`,
		Example: lines(
			"psbench verify",
			"psbench verify --transport tcp",
			"psbench verify --isolate all",
			"psbench verify --device cuda",
			"psbench verify --device cuda --backend nccl",
			"psbench verify --hosts hosts.txt",
			"psbench verify --set trainer.bucket_bytes=512",
			"psbench verify my_case.json",
			"psbench verify --registry mine.json --server mine",
			"psbench verify --record my_case.json --config run.json",
		),
		RunE: func(cmd *cobra.Command, files []string) error {
			switch {
			case record != "" && len(files) > 0:
				return usagef("--record writes the case of a run, so it takes no files, but %s is given",
					quote.Word(files[0]))
			case strings.HasSuffix(record, ".gz"):
				return usagef("--record is %s but a case is not compressed: give a name such as case.json",
					quote.Word(record))
			case device != "cpu" && device != "cuda":
				return usagef("--device is %s but must be cpu or cuda", quote.String(device))
			case cmd.Flags().Changed("backend") && device != "cuda":
				return usagef("--backend is the process group of CUDA trainers but --device is %s: give --device cuda",
					device)
			case record != "" && device != "cpu":
				return usagef("--device is %s but --record makes a case of CPU ranks: leave one of them out", device)
			case record != "":
				return a.recordCase(cmd, record)
			case cmd.Flags().Changed("config"):
				return usagef("--config needs --record: cases have their own configurations")
			}
			cases, err := a.casesOn(cmd, device, files)
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
			o, done := a.caseOptions(cmd)
			defer done()
			return verify.Run(cmd.Context(), cases, chosen, resolve, o, a.stdout)
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	a.addFlags(cmd, "model", "server", "ddp_hook", "trainer", "config", "set", "backend", "transport", "listen",
		"interface", "isolate", "registry", "no_user_registry", "rpc_timeout")
	cmd.Flags().StringVar(&record, delivery.RecordFlag, "",
		"`FILE` for the case of the run that --config and the other flags describe")
	cmd.Flags().StringVar(&device, "device", "cpu", "`DEVICE` that computes: cpu or cuda")
	_ = cmd.RegisterFlagCompletionFunc("device",
		cobra.FixedCompletions([]string{"cpu", "cuda"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// casesOn returns the cases in the files, for a device. It returns an error if the device is missing.
func (a *app) casesOn(cmd *cobra.Command, device string, files []string) ([]verify.Case, error) {
	cases, err := loadCases(files)
	if err != nil || device == "cpu" {
		return cases, err
	}
	options, reg, err := a.merge(cmd)
	if err == nil {
		_, err = a.team.Finder(&a.cuda).Devices(cmd.Context(), 0)
	}
	if err == nil {
		_, err = a.team.Finder(&a.cuda).Plugin(cmd.Context(), reg, result.Build())
	}
	if err != nil {
		return nil, fmt.Errorf("--device is cuda but %w", err)
	}
	return verify.OnCUDA(cases, options.Backend), nil
}

// caseOptions returns the options for the runs of cases. The caller must call done after the last run.
func (a *app) caseOptions(cmd *cobra.Command) (o run.Options, done func()) {
	release := interrupt.Hold(cmd.Context())
	printed := progress.New(a.stderr, a.terminal(a.stderr), true)
	o = a.runOptions(run.Silent)
	o.Output = launch.Output{Line: printed.Line}
	a.team.Spread(&o.Options)
	return o, func() {
		printed.Done()
		release()
	}
}

// recordCase runs a configuration and writes it to file as a case. A failed write leaves no partial file. The case
// has the file's name.
func (a *app) recordCase(cmd *cobra.Command, file string) error {
	e, _, err := a.resolve(cmd)
	if err != nil {
		return err
	}
	o, done := a.caseOptions(cmd)
	defer done()
	name := strings.TrimSuffix(filepath.Base(file), ".json")
	c, err := verify.Record(cmd.Context(), name, e, o)
	if err != nil {
		return err
	}
	at, err := a.remote.At(delivery.RecordFlag, file)
	if err == nil {
		err = result.Write(at, c, func() {})
	}
	if err != nil {
		return fmt.Errorf("--record %s: %w", quote.Word(file), err)
	}
	printf(a.stdout, "%s is a case of %d iterations: psbench verify %s\n", quote.Word(file), len(c.Expect[0].Loss),
		quote.Word(file))
	return nil
}

// chosenParts returns the parts that the command line chooses.
func (a *app) chosenParts(cmd *cobra.Command) (chosen verify.Substitutes, err error) {
	_, reg, err := a.merge(cmd)
	if err != nil {
		return chosen, err
	}
	plain := a.verifyCommand() // the same command without the chosen parts
	plain.SetContext(cmd.Context())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		kind, part := substitutable[f.Name]
		switch {
		case part:
			chosen.Kinds = append(chosen.Kinds, kind)
			wrong := config.CheckProvided(cmd.Context(), reg, kind, f.Value.String(), catalogue)
			if err == nil && wrong != nil {
				err = fmt.Errorf("--%s: %w", f.Name, wrong)
			}
		case f.Name == "set": // belongs to the chosen parts
		default:
			_ = plain.Flags().Set(f.Name, f.Value.String()) // cannot fail, because the value was valid on cmd
		}
	})
	chosen.Own = func(l config.Layer) (*config.Experiment, error) {
		exp, _, err := a.resolve(plain, l)
		return exp, err
	}
	return chosen, err
}

// substitutable maps flags to the kinds of parts that can replace the cases' own parts.
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
