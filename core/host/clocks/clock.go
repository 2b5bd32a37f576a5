package clocks

import (
	"context"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
)

// Ask returns the reading of another host's comm.Now.
type Ask func(ctx context.Context) (remoteNS int64, err error)

// Clock estimates the clock of another host, which all processes of that host share. A nil *Clock stands for the
// clock of the core's host.
type Clock struct {
	ask Ask

	mu        sync.Mutex
	exchanges []Exchange // nil for a known clock
	settled   *Estimate  // set once the estimate no longer changes
}

// New returns a Clock that takes its readings by calling ask. Nothing is known about it before the first Read.
func New(ask Ask) *Clock { return &Clock{ask: ask} }

// Known returns a Clock with a fixed estimate; it takes no readings.
func Known(e Estimate) *Clock { return &Clock{settled: &e} }

// questions are asked in a row; the one with the shortest round trip says most.
const questions = 8

// Read asks the clock several times in a row and keeps the best answer; a settled clock is not asked. If no
// question is answered, Read returns the error of one of them.
func (c *Clock) Read(ctx context.Context) error {
	if c.isSettled() {
		return nil
	}
	var best Exchange
	var failed error
	for i := range questions {
		e := Exchange{SentNS: comm.Now()}
		remote, err := c.ask(ctx)
		e.RemoteNS, e.ReceivedNS = remote, comm.Now()
		if err != nil {
			if failed = err; i == 0 || ctx.Err() != nil {
				break // the other host is gone
			}
			continue
		}
		if best.ReceivedNS == 0 || e.roundTripNS() < best.roundTripNS() {
			best = e
		}
	}
	if best.ReceivedNS == 0 {
		return failed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exchanges = append(c.exchanges, best)
	return nil
}

func (c *Clock) isSettled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settled != nil
}

// Estimate returns the current estimate. Its bound holds for every moment since the first Read.
func (c *Clock) Estimate() Estimate {
	if c == nil {
		return Estimate{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled != nil {
		return *c.settled
	}
	return estimate(c.exchanges, comm.Now())
}

// Settle freezes the current estimate. All stamps of a host are then moved to the core's clock by the same line, so
// their differences stay as they were.
func (c *Clock) Settle() {
	e := c.Estimate()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled == nil {
		c.settled = &e
	}
}

// every is the interval between readings during a run. In between, the bound grows by half an interval times the
// possible drift: 50 µs.
const every = time.Second

// Watch reads clocks until stop is called; stop waits until the reading has ended. A clock that does not answer is
// read again at the next interval, and its bound grows until then.
func Watch(ctx context.Context, clocks []*Clock) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	for _, c := range clocks {
		watching.Go(func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					_ = c.Read(ctx)
				}
			}
		})
	}
	return func() {
		cancel()
		watching.Wait()
	}
}
