// Package interrupt ends a process early: at once where nothing is to be kept, else by the end of its context.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// StallLimit is how long psbench may be blocked once it was interrupted.
const StallLimit = 2 * time.Second

// working is the CPU time within StallLimit that shows that psbench is not blocked. To
// hear heartbeats takes less.
const working = 100 * time.Millisecond

// Watch ends psbench when signals ask for it. The first one ends it at once, unless
// something is to be kept or cleaned up, see Hold. Then it ends the context alone, and the
// rest may take as long as it makes headway. A second signal ends psbench in any case.
type Watch struct {
	// Quit ends psbench.
	Quit func()

	cpu    func() time.Duration // that psbench has used, cpuTime if nil
	cancel context.CancelFunc
	held   atomic.Int32
	waits  atomic.Int32 // that end by themselves
	moves  atomic.Int64
}

// Signals are those that end a run early. The end of the terminal is one of them, unless nohup has it ignored.
func Signals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

type watchKey struct{}

// Start watches until stop is called. Work under ctx can keep psbench from ending at once, see Hold.
func (w *Watch) Start(parent context.Context, signals <-chan os.Signal) (ctx context.Context, stop func()) {
	if w.cpu == nil {
		w.cpu = cpuTime
	}
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

func (w *Watch) watch(signals <-chan os.Signal, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-signals:
	}
	if w.held.Load() == 0 {
		w.Quit()
		return
	}
	w.cancel()
	tick := time.NewTicker(StallLimit / 20)
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
			w.Quit()
			return
		case now := <-tick.C:
			if w.cpu()-cpu >= working || w.moves.Load() != moves || w.waits.Load() > 0 {
				since, cpu, moves = now, w.cpu(), w.moves.Load()
			} else if now.Sub(since) >= StallLimit {
				w.Quit()
				return
			}
		}
	}
}

// watchOf is the watch over what is done under ctx, or one that watches nothing.
func watchOf(ctx context.Context) *Watch {
	if w, ok := ctx.Value(watchKey{}).(*Watch); ok {
		return w
	}
	return new(Watch)
}

// Hold makes the first signal end ctx rather than psbench, until release is called.
func Hold(ctx context.Context) (release func()) {
	w := watchOf(ctx)
	w.held.Add(1)
	return func() { w.held.Add(-1) }
}

// Bounded declares that psbench waits for something with a time limit of its own, until done is
// called.
func Bounded(ctx context.Context) (done func()) {
	w := watchOf(ctx)
	w.waits.Add(1)
	return func() { w.waits.Add(-1) }
}

// Headway says that what holds psbench gets on, though it may take no CPU time.
func Headway(ctx context.Context) { watchOf(ctx).moves.Add(1) }

func cpuTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
