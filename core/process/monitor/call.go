package monitor

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/comm"
)

// Call makes a call to a process and reports its failure. A call longer than timeout (0: no limit) fails as a timed
// out wait for what.
func (m *Monitor) Call(ctx context.Context, name string, timeout time.Duration, what string,
	call func(context.Context) error) error {
	err := bounded(ctx, name, timeout, what, call)
	if err != nil {
		m.Report(name, err)
	}
	return err
}

func bounded(ctx context.Context, name string, timeout time.Duration, what string,
	call func(context.Context) error) error {
	if timeout == 0 {
		return call(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := call(limited)
	// The callee counts the deadline too and may end the call a moment earlier.
	ended := limited.Err() != nil || status.Code(err) == codes.DeadlineExceeded || status.Code(err) == codes.Canceled
	if err != nil && ended && ctx.Err() == nil {
		return &comm.WaitError{Waiter: "the core", For: []string{name}, What: what, Seconds: timeout.Seconds()}
	}
	return err
}
