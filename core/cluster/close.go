package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk/proto"
)

// How long the parts of a process may take to close after a failure, of which the user waits to
// hear; and how long one is asked that gives no sign of life, for it may be stopped.
const (
	failedClose  = 2 * time.Second
	stoppedClose = time.Second
)

// closeSlack is how much later than its parts' limit a process may answer.
const closeSlack = time.Second

// mostFailures bounds how many processes are named whose parts were not closed.
const mostFailures = 3

// closeParts has all processes close their parts, at once, and waits for that. The run has
// failed with err, if that is not nil; what goes wrong now is added to it.
func (c *Cluster) closeParts(err error) error {
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
	failures = slices.DeleteFunc(failures, func(err error) bool { return err == nil })
	switch {
	case len(failures) == 0:
		return err
	case err == nil:
		return joined(failures)
	default:
		return fmt.Errorf("%w; at the end %w", err, joined(failures))
	}
}

// joined is one sentence of failures.
func joined(failures []error) error {
	var told []string
	for _, err := range failures[:min(mostFailures, len(failures))] {
		told = append(told, err.Error())
	}
	if more := len(failures) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("and so for %d processes more", more))
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

// closeAfterFailure is closeParts of a process that may be stopped, which is no news then.
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
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// closeParts has the process close its parts, each within the limit, until ctx ends.
func (m *Member) closeParts(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit+closeSlack)
	defer cancel()
	_, err := m.Close(ctx, &proto.CloseRequest{LimitNs: int64(limit)})
	switch {
	case err == nil, status.Code(err) == codes.Unimplemented: // by who knows of none
		return nil
	case ctx.Err() != nil:
		return &comm.WaitError{Waiter: "the core", For: []string{m.Name}, What: "the end of its parts", Seconds: limit.Seconds()}
	case status.Code(err) == codes.Unavailable: // it died of them, which is told soon
		select {
		case <-m.Exited():
			return m.Death("closing")
		case <-ctx.Done():
			return fmt.Errorf("%s no longer answers", m.Name)
		}
	}
	return errors.New(quote.Message(status.Convert(err).Message()))
}
