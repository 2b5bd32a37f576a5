// Package interrupt ends a process early. The package ends the process at once if nothing must be kept or cleaned
// up; otherwise it cancels the context.
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

// StallLimit is how long psbench may be blocked after an interrupt.
const StallLimit = 2 * time.Second

// working is the CPU time within StallLimit which shows that psbench is not blocked. Receiving heartbeats takes
// less.
const working = 100 * time.Millisecond

// Watch ends psbench on signals. The first signal ends psbench at once, unless something must be kept or cleaned up
// (see Hold). In that case, the first signal cancels only the context, and psbench may continue while it makes
// progress. A second signal always ends psbench.
type Watch struct {
	// Quit ends the process.
	Quit func()

	cpu    func() time.Duration // CPU time that psbench has used; cpuTime if nil
	cancel context.CancelFunc
	held   atomic.Int32
	waits  atomic.Int32 // number of waits with their own time limit
	moves  atomic.Int64
}

// Signals returns the signals that end a run early. The signals include the hangup of the terminal, unless nohup
// makes psbench ignore it.
func Signals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

type watchKey struct{}

// Start watches until stop is called. Work under ctx can delay the end of psbench, see Hold.
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
				break // the shell and the kernel may both send it for the same hangup
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

// watchOf returns the watch of ctx, or a watch without effect.
func watchOf(ctx context.Context) *Watch {
	if w, ok := ctx.Value(watchKey{}).(*Watch); ok {
		return w
	}
	return new(Watch)
}

// Hold makes the first signal cancel ctx instead of ending psbench, until release is called.
func Hold(ctx context.Context) (release func()) {
	w := watchOf(ctx)
	w.held.Add(1)
	return func() { w.held.Add(-1) }
}

// Bounded declares that psbench waits with a separate time limit, until done is called.
func Bounded(ctx context.Context) (done func()) {
	w := watchOf(ctx)
	w.waits.Add(1)
	return func() { w.waits.Add(-1) }
}

// Headway reports progress of the work that delays the end of psbench. Such work may use no CPU time.
func Headway(ctx context.Context) { watchOf(ctx).moves.Add(1) }

func cpuTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
