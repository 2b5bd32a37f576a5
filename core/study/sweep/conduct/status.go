package conduct

import (
	"path/filepath"
	"time"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/core/study/sweep/share"
)

// Status is the state of a sweep.
type Status struct {
	Plan    *sweep.Plan
	Account Account
	Holder  *Holder // process that runs the sweep, nil if there is none
	// Workers holds the claims of a shared sweep by round.
	Workers map[int]share.Holder
	Left    time.Duration
}

// StatusOf reads the state of the sweep in dir, even while a psbench is running the sweep.
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
	if share.Is(dir) {
		if s.Workers, err = share.Holders(dir); err != nil {
			return nil, err
		}
	}
	if s.Holder == nil {
		for i := range s.Account {
			e := &s.Account[i]
			if _, held := s.Workers[e.Round]; e.State == journal.Running && !held {
				e.State, e.Reason = journal.Waiting, wasKilled
			}
		}
	}
	s.Left = s.Account.left(p)
	return s, nil
}
