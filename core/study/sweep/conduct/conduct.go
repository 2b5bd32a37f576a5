// Package conduct runs the runs of a sweep, each in a process of its own, and continues a sweep that was stopped.
// docs/sweeps.md has the contract. Its only memory is the journals and the run folders.
package conduct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/process/team"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/core/study/sweep/share"
)

// Options say how a sweep is run.
type Options struct {
	// Environ is the environment of the runs. It must not set variables of psbench's options, since they would override
	// the plan.
	Environ []string
	// Spec is the text of the specification, which is stored beside the plan for people.
	Spec []byte
	// Extend accepts a plan with more cells or rounds than the sweep was begun with.
	Extend bool
	// Retry runs failed runs once more.
	Retry bool
	// Share makes this psbench work on the sweep beside other psbenches. Each takes whole rounds.
	Share bool
	// Sharing sets the timeouts between psbenches that share the sweep.
	Sharing share.Options
	// Led means that Environ gives runs the agents on the plan's hosts, so they start no agents themselves.
	Led bool
	// Able returns an error if something that all runs need is lost. Nil means that they need nothing.
	Able func() error
	// Tell is called when a run starts and when it ends.
	Tell func(News)
	// Heartbeat is called once a second with the progress of the run that Tell reported last. If it is nil, runs report
	// no progress.
	Heartbeat func(monitor.Beat)
	// Ending is called when psbench asks a run to end. The function that it returns is called when the run has ended.
	Ending func() func()
	// Grace is how long a run may take to end after psbench asked it to; 0 means a minute.
	Grace time.Duration
	// Now is the clock of the journals, time.Now if nil. No duration is measured with it.
	Now func() time.Time
	// Step is for tests: it is called at every point at which psbench may be killed. It may be nil.
	Step func(point string)
}

// Over makes the runs use the agents of team t, which this process leads. A nil team changes nothing.
func (o *Options) Over(t *team.Team) error {
	if t == nil {
		return nil
	}
	call, err := t.Call()
	if err != nil {
		return err
	}
	o.Environ = append(launchers.WithoutPlaces(o.Environ), call)
	o.Led, o.Able = true, t.Present
	return nil
}

// News describes a run that has started or ended.
type News struct {
	Entry
	Cell   sweep.Cell
	Number int // position of the run in the sweep, from 1
	Total  int
	// Counts holds the number of runs in each state.
	Counts map[journal.State]int
	// SamplesPerSecond is the throughput of a run that is done.
	SamplesPerSecond float64
	Left             time.Duration // estimate until the sweep ends, 0 if unknown
}

// Name returns the run's cell and round as text for people.
func (n News) Name() string { return RunName(n.Cell, n.Turn) }

// RunName returns a run of a cell as text for people.
func RunName(c sweep.Cell, t sweep.Turn) string {
	again := ""
	if t.Again {
		again = " again"
	}
	return fmt.Sprintf("%s%s, round %d", c.Name, again, t.Round)
}

// Run runs all runs of the plan that are neither done nor failed and records their states in dir. In a shared sweep it
// runs only runs that no other psbench runs, and returns once all runs are done or failed. After any error, the same
// call continues the sweep.
func Run(ctx context.Context, dir string, p *sweep.Plan, o Options) (err error) {
	s := &session{dir: dir, options: o.withDefaults(), began: time.Now()}
	if s.place, err = enter(ctx, dir, p, s.options); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.place.close()) }()
	s.at("lock taken")
	if s.plan, err = open(dir, p, o); err != nil {
		return err
	}
	s.at("plan written")
	if err := s.look(); err != nil {
		return err
	}
	if o.Retry {
		s.again()
	}
	if s.binaries, err = watch(s.plan.Binaries); err != nil {
		return err
	}
	s.journal, err = journal.Create(filepath.Join(dir, journalName), s.generation+1,
		journal.Options{Now: s.options.Now, Step: o.Step})
	if err != nil {
		return s.ended(err)
	}
	defer func() { err = errors.Join(err, s.journal.Close()) }()
	return s.run(ctx)
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Tell == nil {
		o.Tell = func(News) {}
	}
	if o.Ending == nil {
		o.Ending = func() func() { return func() {} }
	}
	o.Grace = cmp.Or(o.Grace, time.Minute)
	return o
}

// at reports a point at which psbench may be killed to Options.Step.
func (s *session) at(point string) {
	if s.options.Step != nil {
		s.options.Step(point)
	}
}
