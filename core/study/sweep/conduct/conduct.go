// Package conduct runs the runs of a sweep, each in a process of its own, and continues a sweep that was stopped.
// docs/sweeps.md defines its behaviour. All its state is in the journals and the run folders.
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

// Options configure how Run executes a sweep.
type Options struct {
	// Environ is the environment of the runs. It must not set variables of psbench's options, because these would
	// override the plan.
	Environ []string
	// Spec is the text of the specification. The sweep folder stores it next to the plan, for people to read.
	Spec []byte
	// Extend accepts a plan that adds cells or rounds to the sweep's recorded plan.
	Extend bool
	// Retry repeats each failed run once.
	Retry bool
	// Share lets this psbench work on the sweep together with other psbenches. Each psbench takes whole rounds.
	Share bool
	// Sharing sets the timeouts between psbenches that share the sweep.
	Sharing share.Options
	// Led means that Environ has the addresses of agents on the plan's hosts, so the runs start no agents.
	Led bool
	// Able returns an error if a resource that all runs need is lost. A nil Able means that the runs need no resource.
	Able func() error
	// Tell is called when a run starts and when it ends.
	Tell func(News)
	// Heartbeat is called once a second with the progress of the run that Tell reported last. If Heartbeat is nil, runs
	// report no progress.
	Heartbeat func(monitor.Beat)
	// Ending is called when psbench asks a run to end. It returns a function that is called when the run has ended.
	Ending func() func()
	// Grace is how long psbench waits for a run to end before it kills the run; 0 means a minute.
	Grace time.Duration
	// Now gives the times in the journals; nil means time.Now. psbench does not measure durations with Now.
	Now func() time.Time
	// Step is for tests. It is called at every point at which psbench may be killed, and may be nil.
	Step func(point string)
}

// Over makes the runs use the agents of team t, which this process leads. If t is nil, Over changes nothing.
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

// Name returns the cell and round of the run as text for people.
func (n News) Name() string { return RunName(n.Cell, n.Turn) }

// RunName names the run of cell c in turn t as text for people.
func RunName(c sweep.Cell, t sweep.Turn) string {
	again := ""
	if t.Again {
		again = " again"
	}
	return fmt.Sprintf("%s%s, round %d", c.Name, again, t.Round)
}

// Run makes all runs of the plan that are neither done nor failed and records their states in dir. In a shared sweep it
// skips runs that another psbench is running, and returns once all runs are done or failed. After any error, a repeated
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

// at calls Options.Step at a point at which psbench may be killed.
func (s *session) at(point string) {
	if s.options.Step != nil {
		s.options.Step(point)
	}
}
