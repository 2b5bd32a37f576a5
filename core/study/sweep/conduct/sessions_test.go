package conduct

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/study/sweep"
)

// Only a session that has not begun waits for the pause. An interrupt ends the pause.
func TestSessionsWaitForNewOnes(t *testing.T) {
	s := Sessions{Dir: t.TempDir(), Pause: time.Hour}
	if err := os.MkdirAll(s.Folder(1), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Folder(1), sweep.PlanFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i, want := range []error{nil, nil, monitor.ErrInterrupted} {
		if err := s.Wait(ctx, i); !errors.Is(err, want) {
			t.Errorf("session %d: the wait ends with %v, want %v", i, err, want)
		}
	}
	s.Pause = 0
	if err := s.Wait(t.Context(), 2); err != nil {
		t.Error(err)
	}
}
