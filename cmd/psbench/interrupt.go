package main

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stallLimit is how long psbench may be blocked once it was interrupted.
const stallLimit = 2 * time.Second

// working is the CPU time within stallLimit that shows that psbench is not blocked. To
// hear heartbeats takes less.
const working = 100 * time.Millisecond

// watch ends psbench when signals ask for it. The first one ends it at once, unless
// something is to be kept or cleaned up, see hold. Then it ends the context alone, and the
// rest may take as long as it makes headway. A second signal ends psbench in any case.
type watch struct {
	cancel context.CancelFunc
	quit   func()               // ends psbench
	cpu    func() time.Duration // that psbench has used
	held   atomic.Int32
	waits  atomic.Int32 // that end by themselves
	moves  atomic.Int64
}

type watchKey struct{}

// start watches until stop is called. What is done under ctx can hold psbench.
func (w *watch) start(parent context.Context, signals <-chan os.Signal) (ctx context.Context, stop func()) {
	ctx, w.cancel = context.WithCancel(context.WithValue(parent, watchKey{}, w))
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { w.watch(signals, over) })
	return ctx, func() {
		close(over)
		watching.Wait()
		w.cancel()
	}
}

func (w *watch) watch(signals <-chan os.Signal, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-signals:
	}
	if w.held.Load() == 0 {
		w.quit()
		return
	}
	w.cancel()
	tick := time.NewTicker(stallLimit / 20)
	defer tick.Stop()
	since, cpu, moves := time.Now(), w.cpu(), w.moves.Load()
	for {
		select {
		case <-over:
			return
		case s := <-signals:
			if s == syscall.SIGHUP {
				break // the shell and the kernel may both tell of the same one
			}
			w.quit()
			return
		case now := <-tick.C:
			if w.cpu()-cpu >= working || w.moves.Load() != moves || w.waits.Load() > 0 {
				since, cpu, moves = now, w.cpu(), w.moves.Load()
			} else if now.Sub(since) >= stallLimit {
				w.quit()
				return
			}
		}
	}
}

// watchOf is the watch over what is done under ctx, or one that watches nothing.
func watchOf(ctx context.Context) *watch {
	if w, ok := ctx.Value(watchKey{}).(*watch); ok {
		return w
	}
	return new(watch)
}

// hold makes the first signal end ctx rather than psbench, until release is called.
func hold(ctx context.Context) (release func()) {
	w := watchOf(ctx)
	w.held.Add(1)
	return func() { w.held.Add(-1) }
}

// bounded says that what psbench waits for ends by itself, until done is called.
func bounded(ctx context.Context) (done func()) {
	w := watchOf(ctx)
	w.waits.Add(1)
	return func() { w.waits.Add(-1) }
}

// headway says that what holds psbench gets on, though it may take no CPU time.
func headway(ctx context.Context) { watchOf(ctx).moves.Add(1) }

func cpuTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
