package micro

import (
	"context"
	"slices"
	"time"

	"github.com/psbench/psbench/core/host/noise"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host/record"
)

// Progress receives the progress of a run.
type Progress interface {
	Phase(name string)
	// Row reports that the phase now measures this row, counted from 1, out of rows.
	Row(row, rows int)
}

// Silent is a Progress that reports nothing.
var Silent Progress = silent{}

type silent struct{}

func (silent) Phase(string) {}
func (silent) Row(int, int) {}

// Options are the settings of a run that do not change what it measures.
type Options struct {
	cluster.Options
	// Command is the command line that the result records.
	Command []string
	// StartedNS is when the core started, in ns of comm.Now.
	StartedNS int64
	Progress  Progress
}

// session is the execution of a plan.
type session struct {
	plan     *Plan
	progress Progress
	kept     bool
	cluster  *cluster.Cluster
	noise    *noise.Meter
	ranks    []*ranks
	all      []*process // processes of all transports
	limits   limitSamples
	result   *Result
}

// Run executes a plan that passed Check. If Run fails after the first measured row, it returns an error and the rows so
// far, marked as incomplete. A void row also causes an error. When Run returns, all processes have ended and nothing
// else of the run is left.
func Run(ctx context.Context, p *Plan, o Options) (*Result, error) {
	s := newSession(p)
	s.progress, s.kept = o.Progress, o.Kept
	s.result = newResult(o)
	s.result.plan = p
	var err error
	if o.Layout, err = s.place(o.Hosts, o.Apart); err != nil {
		return nil, err
	}
	s.cluster = cluster.New(p.Timeout, s.all, o.Options)
	s.noise = noise.NewMeter(s.cluster.Here)
	s.noise.Begin(noise.Before)
	err = s.cluster.Run(ctx, cluster.Life{Phases: s.phases(), Tell: o.Progress.Phase, Report: s.report})
	if err != nil && len(s.result.Rows) == 0 {
		return nil, err
	}
	if err == nil {
		err = s.result.voided()
	}
	return s.result, err
}

func newSession(p *Plan) *session {
	s := &session{plan: p, limits: limitSamples{}}
	fabrics := p.Fabrics
	if len(fabrics) == 0 {
		fabrics = []*fabric.Fabric{fabric.Default()} // until the places of the processes are known
	}
	for _, f := range fabrics {
		suffix := ""
		if len(fabrics) > 1 { // process names then end with the transport: trainer0.unix
			suffix = "." + f.Name
		}
		w := p.newRanks(f, suffix)
		s.ranks, s.all = append(s.ranks, w), append(s.all, w.processes()...)
	}
	return s
}

// report completes a result that has at least one row.
func (s *session) report(err error) {
	if err != nil {
		s.result.Fail(err)
	}
	if err != nil && len(s.result.Rows) == 0 {
		return
	}
	s.result.Environment.CaptureGPUs()
	if s.kept && err == nil {
		s.result.Environment.CaptureCopy()
	}
	cluster.CompletePlugins(s.result.Plugins, s.all, true)
	s.result.Complete = err == nil
	s.result.addLimits(s.limits)
	s.result.Noise = s.noise.Intervals()
	if s.plan.InsecureNetwork {
		s.result.Warnings = append(s.result.Warnings, config.InsecureNetwork)
	}
	s.result.Warnings = slices.Concat(s.result.Warnings, s.plan.Warnings, s.cluster.Warnings(),
		noise.Warnings(s.result.Noise, "the measurement"))
}

// phases lists the phases of a run in order.
func (s *session) phases() []cluster.Phase {
	phases := []cluster.Phase{
		{Name: "launch", Do: s.start},
		{Name: "set-up", Do: s.configure},
		{Name: "connection", Do: s.connect},
	}
	limits := cluster.Phase{Name: "the machine's limits", Do: s.measureLimits}
	if s.plan.Limits {
		phases = append(phases, limits)
	}
	cells := s.plan.cells()
	for i, c := range cells {
		phases = append(phases, cluster.Phase{Name: c.String(), Do: func(ctx context.Context) error {
			s.progress.Row(i+1, len(cells))
			if i == 0 {
				s.noise.Begin(noise.Measured)
			}
			err := s.measure(ctx, c)
			if err != nil || i == len(cells)-1 {
				s.noise.Begin(noise.After)
			}
			return err
		}})
	}
	if s.plan.Limits {
		limits.Do = func(ctx context.Context) error {
			defer s.noise.End()
			s.measureLinks(ctx)
			return s.measureLimits(ctx)
		}
		phases = append(phases, limits)
	}
	return phases
}

// start checks that all processes can work together, then starts them.
func (s *session) start(ctx context.Context) error {
	s.result.Plugins = cluster.Plugins(s.all)
	s.choose()
	if err := s.checkSites(); err != nil {
		return err
	}
	if onIP := func(w *ranks) bool { return w.fabric.Network.OnIP() }; s.plan.ListenName != "" &&
		slices.ContainsFunc(s.ranks, onIP) {
		warning, err := cluster.CheckListen(s.plan.ListenName, s.plan.Listen, s.all)
		if err != nil {
			return err
		}
		if warning != "" {
			s.result.Warnings = append(s.result.Warnings, warning)
		}
	}
	if err := s.cluster.Start(ctx); err != nil {
		return err
	}
	return s.checkSites() // clocks and contracts of the processes are known now
}

// checkSites returns an error if the sites of the processes do not allow a measurement.
func (s *session) checkSites() error {
	for _, w := range s.ranks {
		for _, p := range w.parts {
			if err := cluster.RequireHost("a part and the process that calls it", p.host, p); err != nil {
				return err
			}
		}
		if err := cluster.CheckLinks(w.fabric, "flag --transport", w.processes()); err != nil {
			return err
		}
	}
	return s.checkTogether()
}

// measure measures one row on every transport. The transports take turns.
func (s *session) measure(ctx context.Context, c cell) error {
	rows, rounds := make([]*Row, len(s.ranks)), make([]int, len(s.ranks))
	for i, w := range s.ranks {
		began := time.Now()
		pilot, err := s.turn(ctx, w, c, pilotRounds)
		if err != nil {
			return err
		}
		rows[i] = s.plan.newRow(c, w.fabric)
		rows[i].across = w.across()
		rows[i].note(pilot)
		rounds[i] = s.plan.turnRounds(time.Since(began) / pilotRounds)
	}
	for repeat := range s.plan.Repeat {
		for i, w := range s.ranks {
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

// turn makes the trainers of a transport measure. Servers and hooks first discard their records and kept slices, which
// would otherwise grow without limit.
func (s *session) turn(ctx context.Context, w *ranks, c cell, rounds int) (*turn, error) {
	// by then, the parts have seen all rounds
	for _, some := range [][]*process{slices.Concat(w.trainers, w.servers), w.parts} {
		if err := cluster.Reset(ctx, s.cluster, some, record.NoPass); err != nil {
			return nil, err
		}
	}
	measured := make([]timings, len(w.trainers))
	err := cluster.Each(ctx, s.cluster, w.trainers, cluster.Unbounded, func(ctx context.Context, p *process) error {
		reply, err := p.Measure(ctx, s.measureRequest(p, c, rounds))
		measured[p.rank] = timingsOf(reply)
		return err
	})
	w.round += int64(rounds) + 1 // a fresh round precedes warm rounds
	if err != nil {
		return nil, err
	}
	return newTurn(rounds, measured)
}
