package clocks

import (
	"context"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
)

// Ask asks what the clock of another host reads: comm.Now there.
type Ask func(ctx context.Context) (remoteNS int64, err error)

// Clock is that of another host: of all its processes, which share it. A nil *Clock is that of the core's host.
type Clock struct {
	ask Ask

	mu        sync.Mutex
	exchanges []Exchange // nil of one that is known
	settled   *Estimate  // which holds from then on
}

// New is a clock that is asked for what it reads. Nothing is known of it before the first Read.
func New(ask Ask) *Clock { return &Clock{ask: ask} }

// Known is a clock of which the estimate is known, which nobody asks.
func Known(e Estimate) *Clock { return &Clock{settled: &e} }

// questions are asked in a row; the one with the shortest round trip says most.
const questions = 8

// Read asks the clock some times in a row, as long as it is not settled, and keeps the best answer. Its error is
// that of a question, if none was answered.
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
				break // it is gone
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

// Estimate is what is known of the clock by now. Its bound holds for every moment since the first Read.
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

// Settle has the estimate of now hold from then on, so that all stamps of a host are put on the core's clock by
// the same line, and their differences stay as they were.
func (c *Clock) Settle() {
	e := c.Estimate()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled == nil {
		c.settled = &e
	}
}

// every is how often a clock is read while a run goes on. What may happen in between adds half of that, times the
// drift that clocks may have, to the bound: 50 µs.
const every = time.Second

// Watch reads clocks until stop is called, which waits for the end of that. One that does not answer is read
// again the next time; until then its bound grows.
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
