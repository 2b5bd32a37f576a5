package clocks

import (
	"context"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
)

// Ask returns the current reading of comm.Now on another host.
type Ask func(ctx context.Context) (remoteNS int64, err error)

// Clock estimates the clock of another host. All processes of that host share this clock. A nil *Clock stands for the
// clock of the core's host.
type Clock struct {
	ask Ask

	mu        sync.Mutex
	exchanges []Exchange // nil for a Clock that Known returned
	settled   *Estimate  // final estimate; nil until Settle is called, but set at once by Known
}

// New returns a Clock that takes its readings by calling ask. Before the first Read, nothing is known about the other
// clock.
func New(ask Ask) *Clock { return &Clock{ask: ask} }

// Known returns a Clock with a fixed estimate. This Clock takes no readings.
func Known(e Estimate) *Clock { return &Clock{settled: &e} }

// questions is how many questions Read asks in a row. The answer with the shortest round trip is the most accurate.
const questions = 8

// Read asks the other clock several times in a row and keeps the best answer. If the clock is settled, Read does
// nothing. If no question is answered, Read returns one of the errors.
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
				break // the other host is unreachable
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

// Estimate returns the current estimate. The bound of the estimate holds for every moment since the first Read.
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

// Settle freezes the current estimate. All timestamps of the host are then converted to the core's clock by the same
// straight line, so their differences stay the same.
func (c *Clock) Settle() {
	e := c.Estimate()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled == nil {
		c.settled = &e
	}
}

// every is the interval between readings during a run. Between two readings, the bound grows by half an interval times
// the possible drift, which is 50 µs.
const every = time.Second

// Watch reads clocks periodically until stop is called. stop waits until the reading has ended. If a clock does not
// answer, Watch reads it again after the next interval. Until then the bound of its estimate grows.
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
