package conduct

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/share"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// place is a psbench's access to the sweep folder, where the psbench works alone or with others.
type place interface {
	// folder returns the folder into which the process of a run writes.
	folder(t sweep.Turn) string
	// lock returns the file that the process of a run keeps open while it lives, or nil if there is no lock.
	lock() *os.File
	// held returns an error if another psbench may write to the same files.
	held() error
	// keep makes the folder of a complete run part of the sweep. show makes the folder of a failed run part of it.
	keep(t sweep.Turn) error
	show(t sweep.Turn) error
	close() error
}

// enter makes dir the folder of the plan and returns this psbench's place in it.
func enter(ctx context.Context, dir string, p *sweep.Plan, o Options) (place, error) {
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	shared := share.Is(dir)
	switch {
	case !o.Share && shared:
		return nil, fmt.Errorf("the sweep %s is shared by several psbench processes: give --share to work on it, too",
			quote.Word(dir))
	case o.Share && !shared && sweep.IsSweep(dir):
		return nil, begunAlone(dir)
	case o.Share:
		w, err := share.Join(dir, p.Identity, o.Sharing)
		if err != nil {
			return nil, err
		}
		return &together{dir: dir, worker: w}, nil
	}
	file, err := take(ctx, dir, o.Now())
	if err != nil {
		return nil, err
	}
	return &alone{dir, file}, nil
}

func begunAlone(dir string) error {
	return fmt.Errorf("the sweep %s was begun without --share, so it cannot be shared: leave --share out, or give another folder",
		quote.Word(dir))
}

// alone is the place of a psbench that works alone and holds the sweep's lock.
type alone struct {
	dir  string
	file *os.File
}

func (a *alone) folder(t sweep.Turn) string { return filepath.Join(a.dir, t.Folder) }
func (a *alone) lock() *os.File             { return a.file }
func (a *alone) held() error                { return stillHeld(a.file) }
func (a *alone) show(sweep.Turn) error      { return nil }
func (a *alone) close() error               { return a.file.Close() }

// keep syncs the parent folder, so that the name of a complete run survives a power loss.
func (a *alone) keep(t sweep.Turn) error {
	path := a.folder(t)
	if err := draft.SyncFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("the run folder %s cannot be written: %w", quote.Word(path), draft.Cause(err))
	}
	return nil
}

// together is the place of one of several psbenches that share a sweep.
type together struct {
	dir    string
	worker *share.Worker
	claim  *share.Claim // the round that this psbench runs
}

// errTaken ends a round because another psbench has taken it over.
var errTaken = errors.New("another psbench has taken the round over")

func (g *together) folder(t sweep.Turn) string { return g.worker.Folder(t.Folder) }
func (g *together) lock() *os.File             { return nil }
func (g *together) show(t sweep.Turn) error    { return g.worker.Show(t.Folder) }
func (g *together) close() error               { return g.worker.Close() }

func (g *together) held() error {
	if g.claim.Lost() {
		return errTaken
	}
	return nil
}

func (g *together) keep(t sweep.Turn) error {
	target := filepath.Join(g.dir, t.Folder)
	_, err := g.worker.Commit(t.Folder, func() error { return moveAside(target) })
	return err
}

// runTogether runs rounds that no other psbench is running, until all runs have ended.
func (s *session) runTogether(ctx context.Context, g *together) error {
	tick := time.NewTicker(g.worker.Beat())
	defer tick.Stop()
	for {
		if err := s.look(); err != nil {
			return err
		}
		rounds := s.unsettled()
		if len(rounds) == 0 {
			return nil
		}
		if err := interrupted(ctx); err != nil {
			return err
		}
		var err error
		if g.claim, err = g.worker.Claim(rounds); err != nil {
			return err
		}
		if g.claim != nil {
			err = s.round(ctx, g)
			g.claim.Leave()
			if err != nil && !errors.Is(err, errTaken) {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// round runs the remaining runs of the claimed round.
func (s *session) round(ctx context.Context, g *together) error {
	if err := s.look(); err != nil { // another psbench may have run this round before the claim
		return err
	}
	ctx, cancel := s.budgeted(ctx, time.Now())
	defer cancel()
	for i := range s.account {
		e := &s.account[i]
		if e.Round != g.claim.Round {
			continue
		}
		if s.open(e) {
			if _, err := g.worker.Adopt(e.Folder); err != nil {
				return err
			}
			wrong, err := incomplete(filepath.Join(s.dir, e.Folder))
			if err != nil {
				return err
			}
			e.Adopted = wrong == ""
		}
		if err := s.mourn(e); err != nil {
			return err
		}
		if err := s.turn(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// unsettled returns the rounds that have runs left.
func (s *session) unsettled() []int {
	var rounds []int
	for i := range s.account {
		e := &s.account[i]
		if s.open(e) && (len(rounds) == 0 || rounds[len(rounds)-1] != e.Round) {
			rounds = append(rounds, e.Round)
		}
	}
	return rounds
}
