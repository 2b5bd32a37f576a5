package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/cuda"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/launchers/submit"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/process/team"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/simd"
	"github.com/psbench/psbench/internal/spelling"
)

// These are the exit statuses.
const (
	exitFailure = 1
	exitUsage   = 2   // psbench does not understand the command line
	exitUnknown = 3   // compare --fail-above found no verdict
	exitSignal  = 130 // interrupted, by the shell's convention
	exitPipe    = 141 // the reader of standard output has closed it, by the shell's convention
)

// app is one invocation of psbench.
type app struct {
	stdout, stderr io.Writer
	environ        []string
	args           []string       // the command line
	submitted      bool           // this process is a task of a job that psbench submitted
	remote         *submit.Remote // set in the first task of a job that psbench submitted; else nil
	beats          *os.File       // takes the progress of a run; nil without a reader
	called         string         // how this run connects to its conductor's agents; "" without a conductor
	cuda           cuda.Finder
	team           *team.Team // nil on one host
	lone           string     // warns about signs of other tasks when this process runs alone
}

// usageError is an error in the command line.
type usageError struct{ error }

// statusError is the exit status of a command that ran on other hosts and printed its own error there.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run executes the command line and returns the exit status.
func (a *app) run(ctx context.Context, args []string) int {
	out := &output{w: a.stdout}
	a.stdout = out
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var elsewhere statusError
	switch {
	case errors.As(err, &elsewhere):
		return int(elsewhere)
	case err == nil && out.err == nil:
		return 0
	case ctx.Err() != nil && !errors.Is(err, monitor.ErrInterrupted): // ErrInterrupted may carry details
		err = monitor.ErrInterrupted
	case err == nil:
		err = out.err
	}
	var output outputError
	if errors.As(err, &output) && errors.Is(err, syscall.EPIPE) {
		return exitPipe // a reader that left cannot read an error
	}
	if !errors.As(err, new(team.ToldError)) {
		a.fail(err)
	}
	var usage usageError
	var undecided verdict.UndecidedError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &undecided):
		return exitUnknown
	case errors.Is(err, monitor.ErrInterrupted):
		return exitSignal
	default:
		return exitFailure
	}
}

func (a *app) fail(err error) {
	_, _ = fmt.Fprintf(a.stderr, "psbench: %s\n", quote.Lines(err.Error()))
}

// quit ends psbench at once. The processes that it started notice the end and exit, too.
func (a *app) quit() {
	said := make(chan struct{})
	go func() { // a stopped terminal blocks the write, so do not wait for it long
		a.fail(monitor.ErrInterrupted)
		close(said)
	}()
	select {
	case <-said:
	case <-time.After(interrupt.StallLimit / 10):
	}
	os.Exit(exitSignal)
}

func (a *app) rootCommand() *cobra.Command {
	run := a.onSeveralHosts(a.runCommand(), a.mergeOwn)
	root := &cobra.Command{
		Use:   "psbench",
		Short: "Measure distributed training with parameter servers",
		Long: `psbench measures distributed training with parameter servers and DDP. Every
part of the experiment is a plugin that a key chooses. Without arguments it
runs the default experiment.

Each flag is also a key of the JSON file that --config names and an environment
variable: --batch-size is batch_size there and PSBENCH_BATCH_SIZE here. Flags
win over the environment, the environment over the file.`,
		Args:              noArguments,
		RunE:              run.RunE,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	a.addFlags(root)
	for _, name := range append([]string{"dry-run", team.HostsFlag, team.CoreFlag, team.SecretFileFlag},
		submissionFlags...) {
		root.Flags().AddFlag(run.Flags().Lookup(name))
	}
	root.Version = result.Build()
	root.SetVersionTemplate("psbench {{.Version}}\n")
	root.Flags().Bool("version", false, "print the version")
	root.SetGlobalNormalizationFunc(option.DashedFlag)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(help)
	root.AddCommand(
		run,
		a.agentCommand(),
		a.onSeveralHosts(a.commCommand(), a.mergeOwn),
		a.compareCommand(),
		a.exportCommand(),
		a.configCommand(),
		a.listCommand(),
		a.runsOnSeveralHosts(a.noiseCommand()),
		a.pluginCommand(),
		a.reportCommand(),
		a.onSeveralHosts(a.rerunCommand(), a.mergeRerun),
		a.showCommand(),
		a.runsOnSeveralHosts(a.sweepCommand()),
		a.traceCommand(),
		a.onSeveralHosts(a.verifyCommand(), a.mergeOwn),
		a.versionCommand(),
		metricsTopic(),
	)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.InitDefaultHelpCmd()
	if helper, _, err := root.Find([]string{"help"}); err == nil {
		helper.Args = helpArguments
	}
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args, completion.RunE = noArguments, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	return root
}

// addFlags adds the flags of the given options to a command, and their completion. Without keys, it adds all options.
func (a *app) addFlags(cmd *cobra.Command, keys ...string) {
	option.AddFlags(cmd.Flags(), keys...)
	a.addCompletion(cmd)
}

// noArguments refuses arguments. The error treats the first argument as a misspelt subcommand.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if truth := strings.ToLower(args[0]); len(names) == 0 && (truth == "true" || truth == "false") {
		return usagef("%s takes no arguments, but %s is given: a flag that is true or false takes its value after =, as in --quiet=%s",
			cmd.CommandPath(), quote.String(args[0]), truth)
	}
	if len(names) == 0 {
		return usagef("%s takes no arguments, but %s is given", cmd.CommandPath(), quote.String(args[0]))
	}
	return usagef("unknown command %s%s", quote.String(args[0]),
		spelling.Hint(args[0], names, "commands", cmd.CommandPath()+" --help shows all"))
}

// helpArguments refuses help for an unknown command.
func helpArguments(cmd *cobra.Command, args []string) error {
	topic, rest, err := cmd.Root().Find(args)
	if err != nil {
		return usageError{err}
	}
	return noArguments(topic, rest)
}

// flagTypes describes the valid values of a flag, by the type name of its pflag.Value.
var flagTypes = map[string]string{"bool": "true or false", "int": "a whole number that fits in 64 bits",
	"float64": "a number of at most 1.8e308", "hosts": "the name of a file",
	percentType: "a percentage from 0% to 1000%, e.g. 5%", partType: "a percentage from 0% to 100%, e.g. 10%"}

// flagError returns an error that names the valid values of a flag, or the closest match of an unknown flag.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if f := invalid.GetFlag(); flagTypes[f.Value.Type()] != "" {
			return usagef("--%s is %s but must be %s%s", f.Name, quote.String(invalid.GetValue()),
				flagTypes[f.Value.Type()], numeral.Why(err))
		}
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return usageError{err}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	name := unknown.GetSpecifiedName()
	if near := spelling.Nearest(name, names); near != "" {
		return usagef("unknown flag --%s; did you mean --%s?", quote.Text(name), near)
	}
	return usagef("unknown flag --%s; %s --help lists the flags", quote.Text(name), cmd.CommandPath())
}

// merge reads a command's configuration layers and its registry.
func (a *app) merge(cmd *cobra.Command, extra ...config.Layer) (*config.Config, *registry.Registry, error) {
	if _, err := simd.Chosen(); err != nil {
		return nil, nil, err
	}
	c, err := config.Merge(config.Sources{Environ: a.environ, Extra: extra, Flags: cmd.Flags(),
		CUDA: a.team.Finder(&a.cuda)})
	if err != nil {
		return nil, nil, err
	}
	reg, err := c.LoadRegistry(psbench.Registry, registry.UserFile(a.environ))
	return c, reg, err
}

// resolve returns the experiment that a command's configuration layers describe.
func (a *app) resolve(cmd *cobra.Command, extra ...config.Layer) (*config.Experiment, option.Options, error) {
	c, reg, err := a.merge(cmd, extra...)
	if err != nil {
		return nil, option.Options{}, err
	}
	exp, err := c.Resolve(cmd.Context(), reg, catalogue)
	return exp, c.Options, err
}
