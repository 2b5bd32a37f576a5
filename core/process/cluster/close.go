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

// These limits apply after a failure, when the user is waiting to see the error. A process without heartbeats gets less
// time to close its parts, because it may be stopped.
const (
	failedClose  = 2 * time.Second
	stoppedClose = time.Second
)

// mostFailures limits how many processes an error names because they failed to close their parts.
const mostFailures = 3

// closeParts makes all processes close their parts in parallel, and waits until they have. err is the failure of the
// run, or nil. closeParts returns err with its own failures added, and the names of the processes that failed.
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

// joined combines failures into one sentence.
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

// closeAfterFailure closes the parts of a process after the run has failed. The process may be stopped or lost. A
// failure of such a process does not count as a new failure.
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
	m.left = "" // an interrupted pass may leave anything running
	if ctx.Err() != nil || errors.As(err, new(*LostError)) {
		return nil
	}
	return err
}
