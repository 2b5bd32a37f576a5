package conduct

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/core/study/sweep/share"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// Prepare makes dir the folder of the plan, which others are to share, and a folder in it for what they print.
// undo removes what it made and nobody has used since.
func Prepare(dir string, p *sweep.Plan) (prints string, undo func(), err error) {
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

// lookEvery is how often who follows a sweep looks at its folder.
const lookEvery = 2 * time.Second

// Others are those who share a sweep that this psbench follows.
type Others interface {
	// Start has them begin.
	Start() error
	// Working says why nobody goes on, if nobody does.
	Working() error
}

// Follow tells how far a sweep is that others share, as Run does of its own runs, until all runs are done or
// failed. They are started unless that is so already.
func Follow(ctx context.Context, dir string, p *sweep.Plan, others Others, o Options) error {
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
	if err := others.Start(); err != nil {
		return err
	}
	for {
		why := others.Working() // before the folder is read, which so has all that they did
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
