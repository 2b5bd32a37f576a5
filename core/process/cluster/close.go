package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits for closing the parts of a process after a failure that the user waits to see. A process without a sign of
// life gets less time, because it may be stopped.
const (
	failedClose  = 2 * time.Second
	stoppedClose = time.Second
)

// mostFailures limits the processes that are named because their parts were not closed.
const mostFailures = 3

// closeParts makes all processes close their parts at once, and waits for them. err is the failure of the run, or
// nil; closeParts adds new failures to it and returns the names of the failed processes.
func (c *Cluster) closeParts(err error) (failed []string, _ error) {
	failures := make([]error, len(c.members))
	var closing sync.WaitGroup
	for i, m := range c.members {
		if m.Process == nil || m.exited() {
			continue
		}
		closing.Go(func() {
			if err != nil {
				failures[i] = c.closeAfterFailure(m)
			} else {
				failures[i] = m.closeParts(context.Background(), c.timeout)
			}
		})
	}
	closing.Wait()
	for i, m := range c.members {
		if failures[i] != nil {
			failed = append(failed, m.Name)
		}
	}
	failures = slices.DeleteFunc(failures, func(err error) bool { return err == nil })
	switch {
	case len(failures) == 0:
		return nil, err
	case err == nil:
		return failed, joined(failures)
	default:
		return failed, fmt.Errorf("%w; at the end %w", err, joined(failures))
	}
}

// joined puts failures into one sentence.
func joined(failures []error) error {
	var told []string
	for _, err := range failures[:min(mostFailures, len(failures))] {
		told = append(told, err.Error())
	}
	if more := len(failures) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("and the same for %d more processes", more))
	}
	return errors.New(strings.Join(told, "; "))
}

func (m *Member) exited() bool {
	select {
	case <-m.Exited():
		return true
	default:
		return false
	}
}

// closeAfterFailure closes the parts of a process that may be stopped or lost, which is then no new failure.
func (c *Cluster) closeAfterFailure(m *Member) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	look := time.AfterFunc(stoppedClose, func() {
		if !c.Alive(m) {
			cancel()
		}
	})
	defer look.Stop()
	err := m.closeParts(ctx, min(c.timeout, failedClose))
	m.left = "" // an unfinished pass may leave anything running
	if ctx.Err() != nil || errors.As(err, new(*LostError)) {
		return nil
	}
	return err
}
