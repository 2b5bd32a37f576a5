package micro

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/core/monitor"
	"github.com/psbench/psbench/sdk/proto"
)

// Progress is told how far a run is.
type Progress interface {
	Phase(name string)
}

// Options of a run that do not change what it measures.
type Options struct {
	// Command is the command line, for the result.
	Command []string
	// StartedNS is when the core started, in ns of comm.Now.
	StartedNS int64
	Progress  Progress
	// Ending is that of run.Options.
	Ending func() (done func())
	// Output says what becomes of what the processes print.
	Output launch.Output
}

// session is a plan while it is carried out.
type session struct {
	plan     *Plan
	progress Progress
	secret   []byte
	launcher *launch.Launcher
	monitor  *monitor.Monitor
	worlds   []*world
	limits   limitSamples
	result   *Result
}

// Run carries out a plan that passed Check. If it fails after the first row was
// measured, it returns what there is, marked incomplete, beside the error; void
// rows are an error too. All processes are gone and nothing of the run is left
// when it returns.
func Run(ctx context.Context, p *Plan, o Options) (*Result, error) {
	s := &session{plan: p, progress: o.Progress, secret: make([]byte, comm.SecretSize), limits: limitSamples{}}
	if _, err := rand.Read(s.secret); err != nil {
		return nil, fmt.Errorf("no random secret for the run: %w", err)
	}
	s.result = newResult(o)
	s.result.plan = p
	for _, t := range p.Transports {
		w, err := p.newWorld(t)
		if err != nil {
			return nil, err
		}
		s.worlds = append(s.worlds, w)
	}
	processes := 0
	for _, w := range s.worlds {
		processes += len(w.members())
	}
	err := launch.CheckLimits(processes)
	if err != nil {
		return nil, err
	}
	if s.launcher, err = launch.New(p.Timeout, o.Output); err != nil {
		return nil, err
	}
	ctx, s.monitor = monitor.New(ctx, p.Timeout)
	if err = s.phases(ctx); err != nil {
		err = s.monitor.Verdict(err)
		s.result.Error = err.Error()
		if o.Ending != nil {
			defer o.Ending()()
		}
	}
	s.monitor.Stop()
	if cerr := s.launcher.Close(err == nil); err == nil && cerr != nil {
		err, s.result.Error = cerr, cerr.Error()
	}
	if err != nil && len(s.result.Rows) == 0 {
		return nil, err
	}
	s.result.Environment.CaptureGPUs()
	s.result.Complete = err == nil
	s.result.addLimits(s.limits)
	if err == nil {
		err = s.result.voided()
	}
	return s.result, err
}

// phases is the life of a run.
func (s *session) phases(ctx context.Context) error {
	type phase struct {
		name string
		do   func(context.Context) error
	}
	phases := []phase{{"launch", s.start}, {"set-up", s.configure}, {"connection", s.connect}}
	limits := phase{"the machine's limits", s.measureLimits}
	if s.plan.Limits {
		phases = append(phases, limits)
	}
	for _, c := range s.plan.cells() {
		phases = append(phases, phase{c.String(), func(ctx context.Context) error { return s.measure(ctx, c) }})
	}
	if s.plan.Limits {
		phases = append(phases, limits)
	}
	for _, p := range phases {
		s.progress.Phase(p.name)
		s.monitor.Phase(p.name)
		if err := p.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) start(ctx context.Context) error {
	return s.everywhere(ctx, 0, "", func(ctx context.Context, _ *world, m *member) error {
		p, err := s.launcher.Start(ctx, launch.Spec{Name: m.name, Plugin: m.plugin, Env: s.plan.environment(m)})
		if err != nil {
			return err
		}
		m.process = p
		s.monitor.Watch(m.name, p, func(string, int) {})
		return nil
	})
}

func (s *session) configure(ctx context.Context) error {
	return s.everywhere(ctx, s.plan.Timeout, "loading", func(ctx context.Context, w *world, m *member) error {
		reply, err := m.process.Configure(ctx, s.configureRequest(w, m))
		m.address, m.link = reply.GetAddress(), reply.GetLinkAddress()
		return err
	})
}

func (s *session) connect(ctx context.Context) error {
	for _, w := range s.worlds {
		if w.transport != comm.Shm {
			continue
		}
		var owners []string
		for _, t := range w.trainers {
			owners = append(owners, t.name)
		}
		if err := comm.ReserveSharedStores(owners, s.plan.buckets()); err != nil {
			return err
		}
	}
	return s.everywhere(ctx, 2*s.plan.Timeout, "its links", func(ctx context.Context, w *world, m *member) error {
		_, err := m.process.Connect(ctx, s.connectRequest(w, m))
		return err
	})
}

// measure measures a row of every transport; they take turns.
func (s *session) measure(ctx context.Context, c cell) error {
	rows, rounds := make([]*Row, len(s.worlds)), make([]int, len(s.worlds))
	for i, w := range s.worlds {
		began := time.Now()
		pilot, err := s.turn(ctx, w, c, pilotRounds)
		if err != nil {
			return err
		}
		rows[i] = s.plan.newRow(c, w.transport)
		rows[i].note(pilot)
		rounds[i] = s.plan.turnRounds(time.Since(began) / pilotRounds)
	}
	for repeat := range s.plan.Repeat {
		for i, w := range s.worlds {
			t, err := s.turn(ctx, w, c, rounds[i])
			if err != nil {
				return err
			}
			rows[i].add(t)
			if repeat == 0 {
				s.result.Rows = append(s.result.Rows, rows[i])
			}
		}
	}
	return nil
}

// turn has the trainers of a world measure. The servers first forget what they
// recorded, which would grow without end.
func (s *session) turn(ctx context.Context, w *world, c cell, rounds int) (*turn, error) {
	err := s.each(ctx, w, w.servers, s.plan.Timeout, "its reset", func(ctx context.Context, _ *world, m *member) error {
		_, err := m.process.Reset(ctx, &proto.ResetRequest{})
		return err
	})
	if err != nil {
		return nil, err
	}
	req := s.measureRequest(w, c, rounds)
	w.round += int64(rounds) + 1 // warm rounds follow a fresh one
	replies := make([]*proto.MeasureReply, len(w.trainers))
	// No deadline: rounds may take as long as they like. Every wait within one
	// has a deadline, and the monitor hears from every process.
	err = s.each(ctx, w, w.trainers, 0, "", func(ctx context.Context, _ *world, m *member) error {
		var err error
		replies[m.rank], err = m.process.Measure(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newTurn(rounds, replies)
}

type call func(context.Context, *world, *member) error

// everywhere makes a call to every process of every world at once.
func (s *session) everywhere(ctx context.Context, timeout time.Duration, what string, do call) error {
	errs := make(chan error, len(s.worlds))
	for _, w := range s.worlds {
		go func() { errs <- s.each(ctx, w, w.members(), timeout, what, do) }()
	}
	return firstError(errs, len(s.worlds))
}

// each makes a call to some processes of a world at once and waits for all. A
// call that takes longer than the timeout (0: no limit) fails as a wait for what.
func (s *session) each(ctx context.Context, w *world, members []*member, timeout time.Duration, what string, do call) error {
	errs := make(chan error, len(members))
	for _, m := range members {
		go func() {
			errs <- s.monitor.Call(ctx, m.name, timeout, what, func(ctx context.Context) error { return do(ctx, w, m) })
		}()
	}
	return firstError(errs, len(members))
}

func firstError(errs <-chan error, n int) (first error) {
	for range n {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}
