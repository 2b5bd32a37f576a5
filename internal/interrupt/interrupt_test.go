package interrupt

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// The core under watch computes for some time after the first signal and then moves pieces of a result. After that
// it is blocked.
func TestWatch(t *testing.T) {
	const never = time.Hour
	for name, test := range map[string]struct {
		held                  bool
		waits                 time.Duration // time before it computes
		computes, moves       time.Duration // time after the first signal at 0
		second                os.Signal
		secondAt, least, most time.Duration // psbench must end between least and most
	}{
		"nothing to keep": {most: 0},
		"blocked":         {held: true, least: StallLimit, most: StallLimit + StallLimit/10},
		"working": {held: true, computes: 10 * time.Second, least: 11 * time.Second,
			most: 13 * time.Second},
		"working and writing": {held: true, computes: 5 * time.Second, moves: 20 * time.Second, least: 21 * time.Second,
			most: 23 * time.Second},
		"collecting": {held: true, waits: 8 * time.Second, least: 9 * time.Second, most: 11 * time.Second},
		"second signal": {held: true, computes: never, second: os.Interrupt, secondAt: time.Second,
			least: time.Second, most: time.Second},
		"second hang-up": {held: true, second: syscall.SIGHUP, secondAt: time.Second, least: StallLimit,
			most: StallLimit + StallLimit/10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ended := make(chan time.Duration, 1)
				w := &Watch{
					Quit: func() { ended <- time.Since(start) },
					cpu:  func() time.Duration { return min(time.Since(start), test.computes) },
				}
				signals := make(chan os.Signal, 2)
				ctx, stop := w.Start(t.Context(), signals)
				defer stop()
				if test.held {
					defer Hold(ctx)()
				}
				signals <- os.Interrupt
				if test.second != nil {
					time.AfterFunc(test.secondAt, func() { signals <- test.second })
				}
				done := Bounded(ctx)
				time.Sleep(test.waits)
				done()
				for time.Since(start) < test.moves {
					Headway(ctx)
					time.Sleep(time.Second)
				}
				if at := <-ended; at < test.least || at > test.most {
					t.Errorf("psbench ends after %v, not within %v and %v", at, test.least, test.most)
				}
				if (ctx.Err() != nil) != test.held {
					t.Errorf("held %v, context %v", test.held, ctx.Err())
				}
			})
		})
	}
}

// Tests and completions have no watch.
func TestHoldWithoutWatch(t *testing.T) {
	Hold(context.Background())()
	Bounded(context.Background())()
	Headway(context.Background())
}
