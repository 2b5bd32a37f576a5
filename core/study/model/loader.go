package model

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
)

// Loader loads a sweep again and again while it grows: a run that it has read it reads no more, and gives
// the same Run again. It is for one goroutine.
type Loader struct {
	// MostFailed is that of the studies that are loaded.
	MostFailed *float64

	mu   sync.Mutex
	ends map[string]lasting // by folder
}

// lasting is what became of a turn that came to its end, as long as its folder is that of then.
type lasting struct {
	end
	changed time.Time
}

// endOf is endOf, of a run that was read before as it was then.
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
