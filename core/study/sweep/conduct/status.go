package conduct

import (
	"path/filepath"
	"time"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/core/study/sweep/share"
)

// Status is how far a sweep is.
type Status struct {
	Plan    *sweep.Plan
	Account Account
	Holder  *Holder // who runs it, nil if nobody does
	// Workers are who run rounds of it, if it is shared.
	Workers map[int]share.Holder
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
