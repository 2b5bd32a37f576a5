// Package run carries out one experiment: it places the parts on processes,
// starts and connects them, runs the warm-up and the measured pass, and collects
// what they recorded. It never touches a tensor.
package run

import (
	"context"
	"crypto/rand"
	"fmt"
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
}

const measuredPass = "measured pass"

// run is the state of one experiment while it runs.
type run struct {
	e        *config.Experiment
	o        Options
	secret   []byte
	launcher *launch.Launcher
	monitor  *monitor.Monitor
	seats    seats
	model    *proto.ModelDescription
	shares   []*proto.Share // by trainer
	streamed bool           // the data is read anew in every epoch
	lookup   *proto.Lookup  // where servers hold tables
	result   *result.Result
}

// Run carries out e. When it fails after the measured pass began, it returns
// what the surviving processes had, marked incomplete, beside the error. All
// processes are gone and nothing of the run is left when it returns.
func Run(ctx context.Context, e *config.Experiment, o Options) (*result.Result, error) {
	r := &run{e: e, o: o, secret: make([]byte, comm.SecretSize), seats: place(e)}
	if _, err := rand.Read(r.secret); err != nil {
		return nil, fmt.Errorf("no random secret for the run: %w", err)
	}
	r.result = newResult(e, o)
	var err error
	if r.launcher, err = launch.New(); err != nil {
		return nil, err
	}
	ctx, r.monitor = monitor.New(ctx, e.Timeout)
	measuring, err := r.passes(ctx)
	if err != nil {
		err = r.monitor.Verdict(err)
		r.result.Error = err.Error()
		if measuring {
			r.salvage()
		}
	}
	r.monitor.Stop()
	if cerr := r.launcher.Close(err == nil); err == nil {
		err = cerr
	}
	if err != nil && !measuring {
		return nil, err
	}
	if !o.Summarize { // nobody looks at the machine of a comparison
		r.result.Environment.CaptureGPUs()
	}
	r.result.Complete = err == nil
	return r.result, err
}

// passes is the life of a run; measuring says that the measured pass began.
func (r *run) passes(ctx context.Context) (measuring bool, err error) {
	steps := []struct {
		phase string
		do    func(context.Context) error
	}{
		{"launch", r.start},
		{"set-up", r.configure},
		{"planning", r.planAndDeal},
		{"connection", r.connect},
		{"warm-up", r.warmUp},
		{measuredPass, r.measure},
		{"collection", r.collect},
	}
	for _, s := range steps {
		r.o.Progress.Phase(s.phase)
		r.monitor.Phase(s.phase)
		measuring = measuring || s.phase == measuredPass
		if err := s.do(ctx); err != nil {
			return measuring, err
		}
	}
	return measuring, nil
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
		r.o.Progress.Epoch(name, epoch+1, r.e.Epochs)
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

func (r *run) warmUp(ctx context.Context) error {
	p, err := r.pass(ctx)
	r.result.StartMS = float64(p.startNS-r.o.StartedNS) / 1e6
	return err
}

func (r *run) measure(ctx context.Context) error {
	p, err := r.pass(ctx)
	if err != nil {
		return err
	}
	var samples int64
	for _, s := range r.shares {
		samples += s.GetSamples() * int64(r.e.Epochs)
	}
	r.result.Throughput = result.NewThroughput(samples, p.seconds())
	return nil
}

// pass resets every process and trains once.
func (r *run) pass(ctx context.Context) (span, error) {
	err := r.each(ctx, r.seats.all, r.e.Timeout, "its reset", func(ctx context.Context, s *seat) error {
		_, err := s.process.Reset(ctx, &proto.ResetRequest{})
		return err
	})
	if err != nil {
		return span{}, err
	}
	replies := make([]*proto.TrainReply, len(r.seats.trainers))
	// No deadline: a pass may take hours. Every wait within it has one, and the
	// monitor hears from every process.
	err = r.each(ctx, r.seats.trainers, 0, "", func(ctx context.Context, s *seat) error {
		reply, err := s.process.Train(ctx, &proto.TrainRequest{})
		replies[s.rank] = reply
		return err
	})
	if err != nil {
		return span{}, err
	}
	return spanOf(replies), nil
}

// span is the time of a pass, in ns of comm.Now: the first start and the last end over
// the trainers, and the most that one of them spent on evaluation.
type span struct{ startNS, endNS, evaluatedNS int64 }

func spanOf(replies []*proto.TrainReply) span {
	s := span{startNS: replies[0].GetStartNs()}
	for _, reply := range replies {
		s.startNS, s.endNS = min(s.startNS, reply.GetStartNs()), max(s.endNS, reply.GetEndNs())
		s.evaluatedNS = max(s.evaluatedNS, reply.GetEvaluatedNs())
	}
	return s
}

// seconds is how long training took. Trainers evaluate at the same time, so the longest
// of their evaluations counts for all.
func (s span) seconds() float64 { return float64(s.endNS-s.startNS-s.evaluatedNS) / 1e9 }

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
