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

// Process is what the monitor follows.
type Process interface {
	// Exited is closed when the process has ended. Death then says how, and phase what the
	// run was doing.
	Exited() <-chan struct{}
	Death(phase string) error
	// Watch is the call of that name of a plugin process.
	Watch(context.Context, *proto.WatchRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[proto.Event], error)
}

// Follower is told how far a process is: the epochs of a pass that begin, from 0, and now and
// then how many iterations are done. It may be told of the last ones when the pass has ended.
type Follower struct {
	// EpochsEvery is of how many epochs the first is told, 0 for none.
	EpochsEvery int
	Epoch       func(pass record.Pass, epoch int)
	Iterations  func(record.Iterations)
}

// iterationsEvery is how often a Follower is told of iterations.
const iterationsEvery = 250 * time.Millisecond

// Watch follows one process until the monitor stops: its death, its failures, its
// heartbeat and its progress, of which follower, if there is one, is told.
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
				if status.Code(err) == codes.Unavailable { // the process ends, which is noticed by itself
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

// failureOf gives the error of a call the form of a failure. A call that broke because its
// process ended names that process.
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
