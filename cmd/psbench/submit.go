package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/delivery"
	"github.com/psbench/psbench/core/process/launchers/submit"
	"github.com/psbench/psbench/core/process/team"
	"github.com/psbench/psbench/internal/interrupt"
)

// submission has the flags that submit a command as a cluster job.
type submission struct {
	launcher string
	slurm    submit.Slurm
}

// launcherFlag names the job's launcher. The other flags describe the job.
const launcherFlag = "launcher"

// submissionFlags are the names of all submission flags.
var submissionFlags = []string{launcherFlag, "nodes", "partition", "account", "time", "slurm-arg"}

// mostNodes is the upper limit of --nodes.
const mostNodes = 10000

func (s *submission) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.launcher, launcherFlag, "", "submit this to a `LAUNCHER` (slurm) and follow it until it ends")
	wholeVar(flags, &s.slurm.Nodes, "nodes", 1, "`N` nodes of the job of --launcher")
	flags.StringVarP(&s.slurm.Partition, "partition", "p", "", "`NAME` of the partition of the job of --launcher")
	flags.StringVar(&s.slurm.Account, "account", "", "`NAME` of the account that the job of --launcher is charged to")
	flags.StringVar(&s.slurm.Time, "time", "", "`TIME` after which Slurm ends the job of --launcher, as in 30:00")
	flags.StringArrayVar(&s.slurm.Args, "slurm-arg", nil,
		"further `ARGUMENT` for Slurm, as in --slurm-arg=--constraint=ib")
}

// asked reports whether the flags request a job. It returns an error for wrong values.
func (s *submission) asked(flags *pflag.FlagSet) (bool, error) {
	switch {
	case s.launcher == "slurm":
	case flags.Changed(launcherFlag):
		return false, usagef("--%s is %q but must be slurm", launcherFlag, s.launcher)
	default:
		for _, name := range submissionFlags {
			if flags.Changed(name) {
				return false, usagef("--%s is for a submitted job, but nothing is submitted: give --%s slurm, too", name,
					launcherFlag)
			}
		}
		return false, nil
	}
	if n := s.slurm.Nodes; n < 1 || n > mostNodes {
		return false, usagef("--nodes is %d but must be from 1 to %d", n, mostNodes)
	}
	if slices.Contains(s.slurm.Args, "") { // srun would take "" as the program
		return false,
			usagef("--slurm-arg is empty but must be an argument for Slurm, as in --slurm-arg=--constraint=ib")
	}
	return true, nil
}

// outside returns an error if this process runs inside a job, because srun would only start a step of that job.
func (a *app) outside() error {
	if job := a.variable("SLURM_JOB_ID"); job != "" {
		return usagef("--%s submits a job, but this is in job %s already: start psbench there by srun --mpi=pmi2 --ntasks-per-node=1",
			launcherFlag, job)
	}
	s := team.System(a.environ, "")
	s.Environ = slices.DeleteFunc(slices.Clone(s.Environ), func(pair string) bool {
		return strings.HasPrefix(pair, option.SecretVariable+"=") // the job does not inherit the secret, so it may be set
	})
	return launchers.Look(s).Refusal()
}

// submit runs this command line on nodes through srun. Then it moves the output files to the paths that the flags
// name on this machine.
func (a *app) submit(cmd *cobra.Command, s *submission,
	merge func() (*config.Config, *registry.Registry, error)) error {
	if err := a.outside(); err != nil {
		return err
	}
	c, reg, err := merge()
	if err != nil {
		return err
	}
	if isRun := cmd.Flags().Lookup("live") != nil; isRun {
		if c.Live {
			return usagef(
				"--live shows a page of the host of the run, which is a node of the job: leave out --live or --%s",
				launcherFlag)
		}
		if err := a.checkBefore(cmd, c, reg); err != nil {
			return err
		}
	}
	inbox, err := delivery.NewInbox(filesOf(cmd.Flags(), c.Options))
	if err != nil {
		return err
	}
	defer inbox.Discard()
	command, err := submit.Command(submit.TaskArgument, a.args)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	defer interrupt.Hold(ctx)()
	defer interrupt.Bounded(ctx)() // an interrupted job has a deadline
	job := submit.Job{
		Slurm: s.slurm, Command: command, Environ: launchers.WithoutPlaces(a.environ), Stdout: a.stdout,
		Stderr: a.stderr,
		Folder: inbox.Folder, Tell: a.teller(c.Quiet), Timeout: time.Duration(c.RPCTimeout) * time.Second,
	}
	status, err := job.Run(ctx)
	if err != nil {
		return err
	}
	if err := inbox.Publish(); err != nil {
		return err
	}
	if status != 0 {
		return statusError(status)
	}
	return nil
}

// filesOf returns the output paths that the flags of a command name, by flag.
func filesOf(flags *pflag.FlagSet, opts option.Options) map[string]string {
	paths := map[string]string{}
	for flag, path := range map[string]string{delivery.OutFlag: opts.Out, delivery.JSONFlag: opts.JSON,
		delivery.LogsFlag: opts.LogDir} {
		if flags.Lookup(flag) != nil && path != "" && path != toStdout {
			paths[flag] = path
		}
	}
	if f := flags.Lookup(delivery.RecordFlag); f != nil && f.Value.String() != "" {
		paths[delivery.RecordFlag] = f.Value.String()
	}
	return paths
}

// checkBefore checks a run before it waits for nodes. It skips devices and interfaces, because only the nodes know
// them.
func (a *app) checkBefore(cmd *cobra.Command, c *config.Config, reg *registry.Registry) error {
	if c.NCUDATrainer+c.NCUDAServer > 0 {
		return nil
	}
	here := *c
	here.Interface = ""
	_, err := here.Resolve(cmd.Context(), reg, catalogue)
	return err
}

// teller returns a function that prints news of a job. If quiet is true, the function prints nothing.
func (a *app) teller(quiet bool) func(string) {
	return func(text string) {
		if !quiet {
			printf(a.stderr, "%s\n", text)
		}
	}
}
