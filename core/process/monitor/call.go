package monitor

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/comm"
)

// Call makes a call to a process and reports a failure of the call. A call that takes longer than timeout fails like a
// wait that timed out; what says in the error what the core waited for. A timeout of 0 means no limit.
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
	// The called process uses the same deadline and may end the call slightly earlier.
	ended := limited.Err() != nil || status.Code(err) == codes.DeadlineExceeded || status.Code(err) == codes.Canceled
	if err != nil && ended && ctx.Err() == nil {
		return &comm.WaitError{Waiter: "the core", For: []string{name}, What: what, Seconds: timeout.Seconds()}
	}
	return err
}
