package conduct

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/psbench/psbench/core/process/launchers/submit"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/core/study/sweep/share"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/internal/quote"
)

// Submit submits a job array and follows the sweep to its end. The elements of the array share the sweep and use one
// node each. Submit sets the array's output folder and uses at most one node per round.
func Submit(ctx context.Context, dir string, p *sweep.Plan, array *submit.Array, o Options) error {
	prints, undo, err := prepare(dir, p)
	if err != nil {
		return err
	}
	defer undo()
	array.Prints, array.Nodes = prints, min(array.Nodes, p.Repeats)
	defer interrupt.Bounded(ctx)() // bounds the time to end an interrupted job
	err = follow(ctx, dir, p, array, o)
	return errors.Join(err, array.Cancel(ctx, err != nil && ctx.Err() == nil))
}

// prepare makes dir a folder for a shared sweep. It also creates the folder prints for the output of the array's
// elements. undo removes the folders that are still empty.
func prepare(dir string, p *sweep.Plan) (prints string, undo func(), err error) {
	if err := makeFolder(dir); err != nil {
		return "", nil, err
	}
	if sweep.IsSweep(dir) {
		if !share.Is(dir) {
			return "", nil, begunAlone(dir)
		}
		recorded, err := sweep.Read(dir)
		if err == nil {
			err = allowed(dir, recorded, p, false)
		}
		if err != nil {
			return "", nil, err
		}
	}
	prints = share.Work(dir)
	if err := os.MkdirAll(prints, 0o777); err != nil { // #nosec G301 -- as the user's umask has it
		return "", nil, fmt.Errorf("the folder %s cannot be made: %w", quote.Word(prints), draft.Cause(err))
	}
	return prints, func() {
		_ = os.Remove(prints) // fails if the folder is not empty
		_ = os.Remove(dir)
	}, nil
}

// lookEvery is how often follow reads the sweep folder.
const lookEvery = 2 * time.Second

// follow submits the array, unless all runs have ended already. It then reports the progress of the shared sweep, as
// Run does for its own runs, until all runs are done or failed.
func follow(ctx context.Context, dir string, p *sweep.Plan, array *submit.Array, o Options) error {
	s := &session{dir: dir, options: o.withDefaults(), plan: p}
	told := map[string]journal.State{}
	var err error
	if s.account, err = accountOf(dir, p, nil); err != nil {
		return err
	}
	if sweep.IsSweep(dir) {
		if over, err := s.glance(told, o.Retry, false); over {
			return err
		}
	}
	if err := array.Submit(ctx); err != nil {
		return err
	}
	for {
		why := array.Working(ctx) // before reading the folder, which then has all the work of an ended array
		if sweep.IsSweep(dir) {
			if over, err := s.glance(told, false, true); over {
				return err
			}
		}
		if err := interrupted(ctx); err != nil {
			return s.ended(err)
		}
		if why != nil {
			return s.ended(why)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
}

// glance reads the states of all runs and, if tell is set, reports each run whose state changed. over is true if the
// sweep has ended; err is then the error of the sweep.
func (s *session) glance(told map[string]journal.State, again, tell bool) (over bool, err error) {
	if s.plan, err = sweep.Read(s.dir); err != nil {
		return true, err
	}
	if err := s.look(); err != nil {
		return true, err
	}
	if again {
		s.again()
	}
	for i := range s.account {
		e := &s.account[i]
		if e.State == told[e.ID()] {
			continue
		}
		if told[e.ID()] = e.State; tell && e.State != journal.Waiting {
			s.tell(i)
		}
	}
	if len(s.unsettled()) > 0 {
		return false, nil
	}
	return true, s.failed()
}
