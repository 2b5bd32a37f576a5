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

// How long the parts of a process may take to close after a failure, of which the user waits to
// hear; and how long one is asked that gives no sign of life, for it may be stopped.
const (
	failedClose  = 2 * time.Second
	stoppedClose = time.Second
)

// mostFailures bounds how many processes are named whose parts were not closed.
const mostFailures = 3

// closeParts has all processes close their parts, at once, and waits for that. The run has
// failed with err, if that is not nil; what goes wrong now is added to it, and the processes are
// named in which it does.
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

// joined is one sentence of failures.
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

// closeAfterFailure is closeParts of a process that may be stopped, or lost with its host, which is no news then.
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
	m.left = "" // a pass that did not come to its end leaves what it will
	if ctx.Err() != nil || errors.As(err, new(*LostError)) {
		return nil
	}
	return err
}
