// Package run carries out one experiment: it places the parts on processes,
// starts and connects them, runs the warm-up and the measured pass, and collects
// what they recorded. It never touches a tensor.
package run

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/core/monitor"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/sdk/proto"
)

// Progress is told how far a run is.
type Progress interface {
	Phase(name string)
	Epoch(trainer string, epoch, epochs int) // epoch counts from 1
}

// Options of a run that are no part of the experiment.
type Options struct {
	// Command is the command line, for the result.
	Command []string
	// StartedNS is when the core started, in ns of comm.Now.
	StartedNS int64
	// Summarize asks for the parameter summaries.
	Summarize bool
	Progress  Progress
	// Ending, if set, is called when a run that failed begins to collect what there is and
	// to clean up, and done at its end. It waits meanwhile, but never long: it has deadlines
	// of its own.
	Ending func() (done func())
	// Output says what becomes of what the processes print.
	Output launch.Output
}

// run is the state of one experiment while it runs.
type run struct {
	e         *config.Experiment
	o         Options
	secret    []byte
	launcher  *launch.Launcher
	monitor   *monitor.Monitor
	seats     seats
	model     *proto.ModelDescription
	shares    []*proto.Share // by trainer
	streamed  bool           // the data is read anew in every epoch
	lookup    *proto.Lookup  // where servers hold tables
	announced atomic.Int32   // epochs of the pass that runs, for those who tell of it
	passing   proto.Pass     // the last pass for which every process was reset
	result    *result.Result
}

// Run carries out e. When it fails after the warm-up began, it returns what was
// recorded of the last pass, marked incomplete, beside the error. All processes
// are gone and nothing of the run is left when it returns.
func Run(ctx context.Context, e *config.Experiment, o Options) (*result.Result, error) {
	r := &run{e: e, o: o, secret: make([]byte, comm.SecretSize), seats: place(e)}
	if _, err := rand.Read(r.secret); err != nil {
		return nil, fmt.Errorf("no random secret for the run: %w", err)
	}
	r.result = newResult(e, o)
	err := launch.CheckLimits(len(r.seats.all))
	if err != nil {
		return nil, err
	}
	if r.launcher, err = launch.New(e.Timeout, o.Output); err != nil {
		return nil, err
	}
	ctx, r.monitor = monitor.New(ctx, e.Timeout)
	err = r.phases(ctx)
	if err != nil {
		err = r.monitor.Verdict(err)
		r.result.Error = err.Error()
		if o.Ending != nil {
			defer o.Ending()()
		}
		r.salvage()
	}
	r.monitor.Stop()
	if cerr := r.launcher.Close(err == nil); err == nil {
		err = cerr
	}
	if r.passing == proto.Pass_PASS_UNSPECIFIED {
		return nil, err
	}
	r.assemble()
	if !o.Summarize { // nobody looks at the machine of a comparison
		r.result.Environment.CaptureGPUs()
	}
	r.result.Complete = err == nil
	return r.result, err
}

// phases is the life of a run.
func (r *run) phases(ctx context.Context) error {
	steps := []struct {
		phase string
		do    func(context.Context) error
	}{
		{"launch", r.start},
		{"set-up", r.configure},
		{"planning", r.planAndDeal},
		{"connection", r.connect},
		{"warm-up", r.warmUp},
		{"measured pass", r.measure},
		{"collection", r.collect},
	}
	for _, s := range steps {
		r.o.Progress.Phase(s.phase)
		r.monitor.Phase(s.phase)
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// start starts all processes in parallel.
func (r *run) start(ctx context.Context) error {
	return r.each(ctx, r.seats.all, 0, "", func(ctx context.Context, s *seat) error {
		p, err := r.launcher.Start(ctx, launch.Spec{
			Name: s.name, Plugin: s.part.Plugin, Env: environment(s.kind, r.e),
		})
		if err != nil {
			return err
		}
		s.process = p
		r.monitor.Watch(s.name, p, r.epoch)
		return nil
	})
}

// epoch passes on the progress of the first trainer.
func (r *run) epoch(name string, epoch int) {
	if name == r.seats.trainers[0].name {
		r.o.Progress.Epoch(name, epoch+1, int(r.announced.Load()))
	}
}

func (r *run) configure(ctx context.Context) error {
	return r.each(ctx, r.seats.all, r.e.Timeout, "loading", func(ctx context.Context, s *seat) error {
		reply, err := s.process.Configure(ctx, r.configureRequest(s))
		if err != nil {
			return err
		}
		s.address, s.link = reply.GetAddress(), reply.GetLinkAddress()
		s.model, s.table = reply.GetModel(), reply.GetTable()
		return nil
	})
}

// connect joins all links, once the memory that they need is there.
func (r *run) connect(ctx context.Context) error {
	if err := r.reserve(); err != nil {
		return err
	}
	return r.each(ctx, r.seats.all, 2*r.e.Timeout, "its links", func(ctx context.Context, s *seat) error {
		reply, err := s.process.Connect(ctx, r.connectRequest(s))
		if err != nil {
			return err
		}
		s.facts, s.boundaries = reply.GetFacts(), reply.GetBoundaryNs()
		return nil
	})
}

// warmUp notes the start, which nobody remembers after the next reset.
func (r *run) warmUp(ctx context.Context) error {
	works, err := r.pass(ctx, proto.Pass_PASS_WARM_UP)
	if err == nil {
		r.result.StartMS = r.startMS(works)
	}
	return err
}

func (r *run) measure(ctx context.Context) error {
	_, err := r.pass(ctx, proto.Pass_PASS_MEASURED)
	return err
}

// epochs are those of a pass.
func (r *run) epochs(pass proto.Pass) int {
	if pass == proto.Pass_PASS_WARM_UP {
		return r.e.WarmUpEpochs
	}
	return r.e.Epochs
}

// pass resets every process and trains once.
func (r *run) pass(ctx context.Context, pass proto.Pass) ([]*proto.Work, error) {
	err := r.each(ctx, r.seats.all, r.e.Timeout, "its reset", func(ctx context.Context, s *seat) error {
		_, err := s.process.Reset(ctx, &proto.ResetRequest{Pass: pass})
		return err
	})
	if err != nil {
		return nil, err
	}
	r.passing = pass
	epochs := int32(r.epochs(pass)) // #nosec G115 -- checked by config
	r.announced.Store(epochs)
	works := make([]*proto.Work, len(r.seats.trainers))
	// No deadline: a pass may take hours. Every wait within it has one, and the
	// monitor hears from every process.
	err = r.each(ctx, r.seats.trainers, 0, "", func(ctx context.Context, s *seat) error {
		reply, err := s.process.Train(ctx, &proto.TrainRequest{Epochs: &epochs})
		works[s.rank] = reply.GetWork()
		return err
	})
	return works, err
}

// each calls do for all seats at once and waits for all. A call that takes
// longer than the timeout (0: no limit) fails as a wait for what.
func (r *run) each(ctx context.Context, seats []*seat, timeout time.Duration, what string, do func(context.Context, *seat) error) error {
	errs := make(chan error, len(seats))
	for _, s := range seats {
		go func() {
			errs <- r.monitor.Call(ctx, s.name, timeout, what, func(ctx context.Context) error { return do(ctx, s) })
		}()
	}
	var first error
	for range seats {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Silent is a Progress that tells nobody.
var Silent Progress = silent{}

type silent struct{}

func (silent) Phase(string)           {}
func (silent) Epoch(string, int, int) {}
