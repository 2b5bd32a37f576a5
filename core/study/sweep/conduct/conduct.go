// Package conduct runs the runs of a sweep, each as a process of its own, and goes on where it was
// stopped: docs/sweeps.md has the contract. Journals and run folders are all that it remembers.
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

// Options are how a sweep is run.
type Options struct {
	// Environ is the environment of the runs. It must not have variables that are options of
	// theirs, which would win over the plan.
	Environ []string
	// Spec is the specification of the plan as it was given, which is kept beside it for people.
	Spec []byte
	// Extend accepts a plan with more cells, or rounds, than the sweep was begun with.
	Extend bool
	// Retry runs what has failed once more.
	Retry bool
	// Share has this psbench work on the sweep beside others, whole rounds each.
	Share bool
	// Sharing is how patient they are with each other.
	Sharing share.Options
	// Led says that by Environ runs know of agents on the hosts of the plan, so that they start none themselves.
	Led bool
	// Able says why no run can go on, as something that all of them need is lost; nil: they need nothing.
	Able func() error
	// Tell is told when a run starts and when it ends.
	Tell func(News)
	// Heartbeat is told once a second how far the run is that Tell was told of last; nil asks no run.
	Heartbeat func(monitor.Beat)
	// Ending is called when a run is told to end, and the func that it returns once it has.
	Ending func() func()
	// Grace is how long a run may take to end once it is told to, a minute if it is 0.
	Grace time.Duration
	// Now is the clock of the journals, time.Now if it is nil. Nothing is measured by it.
	Now func() time.Time
	// Step is called at every point at which psbench may be killed, by tests; nil calls nobody.
	Step func(point string)
}

// Over has the runs call the agents of a team, which this process leads. A nil team has none.
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

// News is what Tell is told.
type News struct {
	Entry
	Cell   sweep.Cell
	Number int // of the run, in the order of the sweep, from 1
	Total  int
	// Counts are how many of them are done, or failed, by now.
	Counts map[journal.State]int
	// SamplesPerSecond is the throughput of a run that is done.
	SamplesPerSecond float64
	Left             time.Duration // until the sweep ends, 0 if nothing tells
}

// Name is the run for people: its cell and its round.
func (n News) Name() string { return RunName(n.Cell, n.Turn) }

// RunName is a run of a cell for people.
func RunName(c sweep.Cell, t sweep.Turn) string {
	again := ""
	if t.Again {
		again = " again"
	}
	return fmt.Sprintf("%s%s, round %d", c.Name, again, t.Round)
}

// Run runs all runs of the plan that are neither done nor failed, and keeps account of them in dir. Of a
// sweep that is shared it runs those that no other psbench runs, and ends when there are none left.
// Every error leaves the sweep such that the same call goes on with it.
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

// at tells tests of a point at which psbench may be killed.
func (s *session) at(point string) {
	if s.options.Step != nil {
		s.options.Step(point)
	}
}
