package linktest

import (
	"sync"
	"testing"

	"github.com/psbench/psbench/internal/comm/commtest"
)

// Together runs a step for every rank at once. Each rank has its own goroutine,
// which lives for the whole benchmark.
type Together struct {
	start []chan struct{}
	done  chan error
	wg    sync.WaitGroup
}

// NewTogether starts the ranks' goroutines, which then wait for a round.
func NewTogether(ranks int, step func(rank int) error) *Together {
	p := &Together{done: make(chan error, ranks)}
	for rank := range ranks {
		start := make(chan struct{})
		p.start = append(p.start, start)
		p.wg.Go(func() {
			for range start {
				p.done <- step(rank)
			}
		})
	}
	return p
}

// Round makes every rank take one step and waits for all of them.
func (p *Together) Round(t commtest.TB) {
	for _, start := range p.start {
		start <- struct{}{}
	}
	for range p.start {
		commtest.Must(t, <-p.done)
	}
}

// Close ends the ranks' goroutines.
func (p *Together) Close() {
	for _, start := range p.start {
		close(start)
	}
	p.wg.Wait()
}

// RequireNoAllocation requires that the ranks allocate nothing after their
// first step. Each step runs the next batch.
func RequireNoAllocation(t *testing.T, ranks int, step func(rank int, batch int64) error) {
	t.Helper()
	batches := make([]int64, ranks)
	p := NewTogether(ranks, func(rank int) error {
		batches[rank]++
		return step(rank, batches[rank])
	})
	t.Cleanup(p.Close)
	p.Round(t)
	if allocs := testing.AllocsPerRun(50, func() { p.Round(t) }); allocs != 0 {
		t.Errorf("a round allocates %g times, want 0", allocs)
	}
}
