// Package develop repeats a turn, such as building and running a plugin, whenever the plugin's source has changed.
package develop

import (
	"context"
	"path/filepath"
	"time"
)

const (
	// look is the interval at which the source is checked.
	look = 200 * time.Millisecond
	// unrest limits how long to wait for a source that keeps changing.
	unrest = 2 * time.Second
)

// Loop repeats a turn until its context ends.
type Loop struct {
	Dir     string // folder of the source
	Program string // path of the program that is built in this folder
	// Turn carries out one turn. When the source changes, Run cancels the turn's context and waits for Turn to return.
	Turn func(ctx context.Context)

	read func(dir string) (source, error) // replaced in tests
}

// Run carries out a turn at once, and another after each change of the source. An editor may write several files. Run
// therefore waits until two checks of the source, 200 ms apart, give the same result, but at most 2 s. If the source
// cannot be read at the start, Run returns the error. A later read error counts as a change. When ctx ends, Run returns
// its cause.
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

// changed waits until the source differs from seen, and returns the new source.
func (l Loop) changed(ctx context.Context, seen source) source {
	for {
		now, _ := l.read(l.Dir)
		if ctx.Err() != nil || !now.equal(seen) {
			return now
		}
		pause(ctx, look)
	}
}

// settled waits until two checks of the source give the same result, and returns it.
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
