package monitor

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk/proto"
)

// Process is a process that the monitor watches.
type Process interface {
	// Exited returns a channel that is closed when the process has ended. Death says how the process ended; call it
	// only after Exited is closed. phase is what the run was doing.
	Exited() <-chan struct{}
	Death(phase string) error
	// Watch calls the method Watch of the plugin process.
	Watch(context.Context, *proto.WatchRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[proto.Event], error)
}

// Follower receives the progress of a process. Epoch is called when an epoch of a pass begins, counted from 0.
// Iterations is called from time to time with the number of finished iterations. The last calls may come after the end
// of the pass.
type Follower struct {
	// EpochsEvery is the number of epochs from one call of Epoch to the next. 0 means no calls.
	EpochsEvery int
	Epoch       func(pass record.Pass, epoch int)
	Iterations  func(record.Iterations)
}

// iterationsEvery is the interval between two calls of Follower.Iterations.
const iterationsEvery = 250 * time.Millisecond

// Watch watches one process until the monitor stops: its death, failures and heartbeats. A follower, if not nil,
// receives the progress of the process.
func (m *Monitor) Watch(name string, p Process, follower *Follower) {
	m.hear(name)
	ctx, cancel := context.WithCancel(context.Background())
	m.owned.Go(func() {
		defer cancel()
		select {
		case <-p.Exited():
			m.dead(name, p)
		case <-m.quit:
		}
	})
	m.owned.Go(func() {
		req := &proto.WatchRequest{}
		if follower != nil {
			req.IterationsEveryNs = int64(iterationsEvery)
			req.EpochsEvery = int32(follower.EpochsEvery) // #nosec G115 -- a few
		}
		stream, err := p.Watch(ctx, req)
		for err == nil {
			var event *proto.Event
			if event, err = stream.Recv(); err != nil {
				if status.Code(err) == codes.Unavailable { // the process is ending, and Exited reports this
					m.lose(name)
				}
				return
			}
			m.hear(name)
			if f := event.GetFailure(); f != nil {
				m.add(blame{from: name, failure: convert.FailureFromProto(f)})
			}
			if follower == nil {
				continue
			}
			if e := event.GetProgress(); e != nil {
				follower.Epoch(convert.PassFromProto(e.GetPass()), int(e.GetEpoch()))
			}
			if i := event.GetIterations(); i != nil {
				follower.Iterations(convert.IterationsFromProto(i))
			}
		}
	})
}

// failureOf converts the error of a call to a failure. If the process ended during the call, the failure names the
// process.
func failureOf(err error, name string) fault.Failure {
	s, ok := status.FromError(err)
	if !ok {
		return fault.Describe(err)
	}
	for _, d := range s.Details() {
		if f, ok := d.(*proto.Failure); ok {
			return convert.FailureFromProto(f)
		}
	}
	if s.Code() == codes.Unavailable || s.Code() == codes.Canceled {
		return fault.Failure{Cause: fault.Peer, Message: name + " no longer answers", About: []string{name}}
	}
	return fault.Failure{Message: name + ": " + s.Message()}
}
