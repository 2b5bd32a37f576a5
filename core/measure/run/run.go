// Package run carries out one experiment. It assigns the parts to processes, starts and connects them, runs the warm-up
// and the measured pass, and collects the records. It never touches a tensor.
package run

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/host/noise"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/host/stop"
)

// Options are the settings of a run that are not part of the experiment.
type Options struct {
	cluster.Options
	// Command is the command line that the result records.
	Command []string
	// StartedNS is when the core started, in ns of comm.Now.
	StartedNS int64
	// Environment holds variables for the processes. They are added to the core's environment and to the variables that
	// a run sets.
	Environment []string
	// Summarize asks the processes for summaries of their parameters.
	Summarize bool
	Progress  Progress
}

// run is the state of one experiment while it runs.
type run struct {
	e         *config.Experiment
	o         Options
	processes processes
	cluster   *cluster.Cluster
	noise     *noise.Meter
	model     layout.Model
	shares    []batches.Share // by trainer
	streamed  bool            // the data process rereads the data in every epoch
	lengths   map[record.Pass]stop.Length
	lookup    *comm.LookupSpec // nil unless servers hold tables
	told      atomic.Int64     // the current pass, a record.Pass, for progress reports
	passing   record.Pass      // the last pass for which all processes were reset
	warmedUp  []record.Work    // each trainer's work in a completed warm-up, on the trainer's clock
	unfit     bool             // the data process refused its samples
	result    *result.Result
}

// Run executes e. If Run fails after the warm-up has begun, it returns an error and the record of the last pass, marked
// as incomplete. When Run returns, all processes have ended and nothing else of the run is left.
func Run(ctx context.Context, e *config.Experiment, o Options) (*result.Result, error) {
	r, err := begin(e, o)
	if err != nil {
		return nil, err
	}
	r.noise = noise.NewMeter(r.cluster.Here)
	r.noise.Begin(noise.Before)
	err = r.cluster.Run(ctx,
		cluster.Life{Phases: r.phases(), Tell: o.Progress.Phase, Salvage: r.salvage, Report: r.report})
	if r.unfit && err != nil {
		err = &UnfitError{err}
	}
	if r.passing == record.NoPass {
		return nil, err
	}
	return r.result, err
}

// begin assigns the parts of e to processes but starts no process.
func begin(e *config.Experiment, o Options) (*run, error) {
	r := &run{e: e, o: o, processes: layOut(e), result: newResult(e, o)}
	layout, err := place(e, r.processes, o.Hosts)
	if err != nil {
		return nil, err
	}
	r.o.Layout = layout
	r.processes.onDevicesOf(layout, e, o.Apart)
	r.result.Warnings = append(r.result.Warnings, layout.Notes...)
	if !layout.Plain() || o.Apart {
		r.result.Placement = layout
	}
	for _, p := range r.processes.all {
		p.Env = func() []string { return append(r.environment(p), o.Environment...) }
	}
	r.follow()
	r.cluster = cluster.New(e.Timeout, r.processes.all, r.o.Options)
	return r, nil
}

// The phases of the passes.
const (
	warmUpPhase   = "warm-up"
	measuredPhase = "measured pass"
)

// UnfitError ends a run because the data does not fit the model or the trainer.
type UnfitError struct{ error }

func (e *UnfitError) Unwrap() error { return e.error }

// phases lists the phases of a run in order.
func (r *run) phases() []cluster.Phase {
	phases := []cluster.Phase{
		{Name: "launch", Do: r.start},
		{Name: "set-up", Do: r.configure},
		{Name: "planning", Do: r.planAndPartition},
		{Name: "connection", Do: r.connect},
		{Name: warmUpPhase, Do: r.warmUp},
		{Name: measuredPhase, Do: r.measure},
		{Name: "collection", Do: func(ctx context.Context) error {
			defer r.noise.End()
			if err := r.collect(ctx); err != nil {
				return err
			}
			r.measureLinks(ctx)
			if !r.e.Check {
				return nil
			}
			return r.check(ctx)
		}},
	}
	if r.e.WarmUp == (stop.Length{}) {
		phases = slices.DeleteFunc(phases, func(p cluster.Phase) bool { return p.Name == warmUpPhase })
	}
	return phases
}

// report completes the result of a run that has begun a pass.
func (r *run) report(err error) {
	if r.passing == record.NoPass {
		return
	}
	if err != nil {
		r.result.Fail(err)
	}
	r.assemble()
	cluster.CompletePlugins(r.result.Plugins, r.processes.all, !r.o.Summarize) // a comparison does not need this
	r.result.ArrivalOrder = r.arrivalOrder()
	if err == nil {
		r.warnIterations()
		r.result.Replicas = r.replicas()
		r.warnReplicas(r.result.Replicas)
	}
	r.result.Noise = r.noise.Intervals()
	r.result.Warnings = slices.Concat(r.result.Warnings, r.cluster.Warnings(),
		noise.Warnings(r.result.Noise, "the measured pass"))
	if !r.o.Summarize { // a comparison does not need the machine
		r.result.Environment.CaptureGPUs()
	}
	if r.o.Kept && err == nil {
		r.result.Environment.CaptureCopy()
	}
	r.result.Complete = err == nil
}

// start checks that all processes can work together, then starts them.
func (r *run) start(ctx context.Context) error {
	if slices.Max(cluster.Hosts(r.processes.all)) > 0 {
		before := len(r.e.Warnings) // the experiment's warnings come first
		r.e = r.e.Across()
		r.result.Warnings = slices.Concat(r.e.Warnings, r.result.Warnings[before:])
		r.result.Config, r.result.Transport, r.result.Group = r.e.Values, r.e.Fabric.Name, r.e.Group
	}
	if err := r.checkSites(); err != nil {
		return err
	}
	if r.e.ListenName != "" && r.e.Fabric.Network.OnIP() {
		warning, err := cluster.CheckListen(r.e.ListenName, r.e.Listen, r.processes.all)
		if err != nil {
			return err
		}
		if warning != "" {
			r.result.Warnings = append(r.result.Warnings, warning)
		}
	}
	r.result.Plugins = cluster.Plugins(r.processes.all)
	if err := r.cluster.Start(ctx); err != nil {
		return err
	}
	if err := r.checkContracts(); err != nil {
		return err
	}
	return r.checkSites() // clocks and contracts of the processes are known now
}

// Pending returns the result of a run of e that has not begun.
func Pending(e *config.Experiment, o Options) *result.Result {
	r := newResult(e, o)
	r.Error = result.Running
	return r
}

func newResult(e *config.Experiment, o Options) *result.Result {
	r := &result.Result{
		Schema: result.Schema, Started: startTime(o.StartedNS), StartedNS: o.StartedNS, Command: o.Command,
		Config: e.Values, Environment: result.Capture(), Warnings: e.Warnings, Transport: e.Fabric.Name,
		Connected: e.Connected(), Group: e.Group,
	}
	if e.CUDA != nil && e.CUDA.Here() {
		r.Environment.CUDA = e.CUDA.Devices
	}
	return r
}

// Try starts e like Run and ends it before the first pass. It returns an error if a part refuses its settings, if the
// data does not fit the model and the trainer, or if the processes cannot connect.
func Try(ctx context.Context, e *config.Experiment, o Options) error {
	r, err := begin(e, o)
	if err != nil {
		return err
	}
	var phases []cluster.Phase
	for _, p := range r.phases() {
		if p.Name == warmUpPhase || p.Name == measuredPhase {
			break
		}
		phases = append(phases, p)
	}
	return r.cluster.Run(ctx, cluster.Life{Phases: phases, Tell: func(string) {}, Report: func(error) {}})
}
