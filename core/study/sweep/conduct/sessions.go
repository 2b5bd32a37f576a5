package conduct

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// Sessions runs several sweeps of the same plan with pauses between them. Each sweep has its own folder within Dir.
type Sessions struct {
	Dir   string
	Plan  *sweep.Plan
	Pause time.Duration
	Options
}

// Folder returns the folder of session i, counted from 0.
func (s *Sessions) Folder(i int) string { return filepath.Join(s.Dir, fmt.Sprintf("session-%d", i+1)) }

// Wait waits for the pause before session i. It returns at once for the first session and for a session that has begun.
func (s *Sessions) Wait(ctx context.Context, i int) error {
	if i == 0 || sweep.IsSweep(s.Folder(i)) {
		return nil
	}
	select {
	case <-time.After(s.Pause):
		return nil
	case <-ctx.Done():
		return monitor.ErrInterrupted
	}
}

// Run executes session i, or the remaining runs of it. Each session has its own random order.
func (s *Sessions) Run(ctx context.Context, i int) error {
	if err := os.MkdirAll(s.Dir, 0o777); err != nil { // #nosec G301 -- the user's umask
		return fmt.Errorf("folder %s cannot be made: %w", quote.Word(s.Dir), draft.Cause(err))
	}
	p := *s.Plan
	p.Seed = uint64(i) // #nosec G115 -- not negative
	return Run(ctx, s.Folder(i), &p, s.Options)
}
