package model

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
)

// Loader loads a growing sweep repeatedly. It reads each run once and returns the same *Run every time. Only one
// goroutine may use a Loader.
type Loader struct {
	// MostFailed is copied into each loaded study; see Study.MostFailed.
	MostFailed *float64

	mu   sync.Mutex
	ends map[string]lasting // outcomes by folder
}

// lasting is the stored outcome of a finished turn. It is valid until the modification time of the turn's folder
// changes.
type lasting struct {
	end
	changed time.Time
}

// endOf returns the outcome of a turn. It returns the stored outcome if the folder has not changed.
func (l *Loader) endOf(dir string, t sweep.Turn, state journal.Run) end {
	path := filepath.Join(dir, t.Folder)
	info, err := os.Stat(path)
	if err != nil || state.State == journal.Failed {
		return endOf(dir, t, state)
	}
	l.mu.Lock()
	before, ok := l.ends[path]
	l.mu.Unlock()
	if ok && before.changed.Equal(info.ModTime()) {
		return before.end
	}
	e := endOf(dir, t, state)
	if e.run != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.ends == nil {
			l.ends = map[string]lasting{}
		}
		l.ends[path] = lasting{e, info.ModTime()}
	}
	return e
}
