package conduct

import (
	"path/filepath"
	"time"

	"github.com/psbench/psbench/core/sweep"
	"github.com/psbench/psbench/core/sweep/journal"
)

// Status is how far a sweep is.
type Status struct {
	Plan    *sweep.Plan
	Account Account
	Holder  *Holder // who runs it, nil if nobody does
	Left    time.Duration
}

// StatusOf reads how far the sweep in dir is, whether or not somebody runs it.
func StatusOf(dir string) (*Status, error) {
	p, err := sweep.Read(dir)
	if err != nil {
		return nil, err
	}
	s := &Status{Plan: p}
	if s.Holder, err = HeldBy(dir); err != nil {
		return nil, err
	}
	events, err := journal.Read(filepath.Join(dir, journalName))
	if err != nil {
		return nil, err
	}
	if s.Account, err = accountOf(dir, p, events); err != nil {
		return nil, err
	}
	if s.Holder == nil {
		for i := range s.Account {
			if e := &s.Account[i]; e.State == journal.Running {
				e.State, e.Reason = journal.Waiting, wasKilled
			}
		}
	}
	s.Left = s.Account.left(p)
	return s, nil
}
