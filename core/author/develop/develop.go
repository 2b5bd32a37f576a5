// Package develop takes a turn with a plugin, such as to build and to run it, whenever its source
// has changed.
package develop

import (
	"context"
	"path/filepath"
	"time"
)

const (
	// look is how often the source is looked at.
	look = 200 * time.Millisecond
	// unrest is how long a source that changes all the time is waited for.
	unrest = 2 * time.Second
)

// Loop takes turns until the context ends.
type Loop struct {
	Dir     string // of the source
	Program string // the path of what is built of it, there
	// Turn is ended by its context when the source changes, and then waited for.
	Turn func(ctx context.Context)

	read func(dir string) (source, error) // a double in tests
}

// Run takes a turn at once, and one after each change: an editor may write several files, so a
// change is over when two looks at the source, 200 ms apart, find the same, after 2 s at the
// latest. It returns the error of the context, or of reading the source at the start; a later
// read error counts as a change.
func (l Loop) Run(ctx context.Context) error {
	if l.read == nil {
		l.read = (&watch{program: filepath.Base(l.Program)}).read
	}
	seen, err := l.read(l.Dir)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		turn, end := context.WithCancel(ctx)
		over := make(chan struct{})
		go func() {
			defer close(over)
			l.Turn(turn)
		}()
		seen = l.settled(ctx, l.changed(ctx, seen))
		end()
		<-over
	}
	return context.Cause(ctx)
}

// changed waits until the source is another one than seen, and gives that.
func (l Loop) changed(ctx context.Context, seen source) source {
	for {
		now, _ := l.read(l.Dir)
		if ctx.Err() != nil || !now.equal(seen) {
			return now
		}
		pause(ctx, look)
	}
}

// settled waits until the source is the same for a moment, and gives that.
func (l Loop) settled(ctx context.Context, seen source) source {
	for late := time.Now().Add(unrest); ; {
		pause(ctx, look)
		now, _ := l.read(l.Dir)
		if ctx.Err() != nil || now.equal(seen) || time.Now().After(late) {
			return now
		}
		seen = now
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
