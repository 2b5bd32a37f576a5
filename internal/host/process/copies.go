package process

import (
	"fmt"
	"sync"
	"time"

	"github.com/psbench/psbench/sdk/engine"
)

// watched is an engine that ends the run if a wait for a copy exceeds the run's timeout. Without
// this check, a stuck copy might go unreported, because no other process need be waiting for this
// one. The engine's Wait cannot be cancelled.
type watched struct {
	engine.Engine
	process *Process

	mu   sync.Mutex
	idle []*time.Timer // stopped timers; at most one per concurrent waiter
}

// WatchedEngine returns the process's engine with waits that time out. Parts use the original
// engine, because they may examine its type.
func (p *Process) WatchedEngine() engine.Engine {
	if p.Engine.Addressable() { // no copies
		return p.Engine
	}
	return &watched{Engine: p.Engine, process: p}
}

// Wait implements engine.Engine. Wait allocates only when more goroutines wait at once than ever
// before.
func (w *watched) Wait(t engine.Ticket) error {
	late := w.take()
	err := w.Engine.Wait(t)
	late.Stop()
	w.mu.Lock()
	w.idle = append(w.idle, late)
	w.mu.Unlock()
	return err
}

// take returns a running timer.
func (w *watched) take() *time.Timer {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := len(w.idle) - 1
	if last < 0 {
		return time.AfterFunc(w.process.Timeout, w.tell)
	}
	late := w.idle[last]
	w.idle = w.idle[:last]
	late.Reset(w.process.Timeout)
	return late
}

func (w *watched) tell() {
	p := w.process
	p.Events.Fail(fmt.Errorf("%s: engine %s has not ended a copy after %g s, so its Wait does not return: look at the device, or raise --rpc-timeout if its work takes that long",
		p.Name(), w.Name(), p.Timeout.Seconds()))
}
