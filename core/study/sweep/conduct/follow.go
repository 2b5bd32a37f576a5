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

// Submit has the elements of a job array share a sweep, a node for each, and follows it to its end. It chooses
// where the elements print, and no more nodes than there are rounds.
func Submit(ctx context.Context, dir string, p *sweep.Plan, array *submit.Array, o Options) error {
	prints, undo, err := prepare(dir, p)
	if err != nil {
		return err
	}
	defer undo()
	array.Prints, array.Nodes = prints, min(array.Nodes, p.Repeats)
	defer interrupt.Bounded(ctx)() // an interrupted job has a deadline
	err = follow(ctx, dir, p, array, o)
	return errors.Join(err, array.Cancel(ctx, err != nil && ctx.Err() == nil))
}

// prepare makes dir the folder of the plan, which others are to share, and a folder in it for what they print.
// undo removes what it made and nobody has used since.
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
		_ = os.Remove(prints) // unless something is in it
		_ = os.Remove(dir)
	}, nil
}

// lookEvery is how often follow looks at the folder of the sweep.
const lookEvery = 2 * time.Second

// follow reports how far a sweep is that the elements of array share, as Run does of its own runs, until all runs are
// done or failed. It submits the array unless that is so already.
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
		why := array.Working(ctx) // before the folder is read, which so has all that they did
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

// glance reads how far the sweep is and tells the news, and says whether it is over, and if so with which error.
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
