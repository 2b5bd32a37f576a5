package monitor

import (
	"errors"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk/proto"
)

// blame is one failure as one process saw it: its own death, or what it told.
type blame struct {
	from    string
	death   error
	failure *proto.Failure
}

// FailureOf gives err the form of a failure. A call that broke because its
// process ended names that process.
func failureOf(err error, name string) *proto.Failure {
	if wait := (*comm.WaitError)(nil); errors.As(err, &wait) {
		return &proto.Failure{Cause: proto.Failure_CAUSE_WAIT, Message: err.Error(), About: wait.For}
	}
	s, ok := status.FromError(err)
	if !ok {
		return &proto.Failure{Message: err.Error()}
	}
	for _, d := range s.Details() {
		if f, ok := d.(*proto.Failure); ok {
			return f
		}
	}
	if s.Code() == codes.Unavailable || s.Code() == codes.Canceled {
		return &proto.Failure{Cause: proto.Failure_CAUSE_PEER, Message: name + " no longer answers", About: []string{name}}
	}
	return &proto.Failure{Message: name + ": " + s.Message()}
}

// grace is how long to wait for a better explanation than b.
func (b *blame) grace() time.Duration {
	switch {
	case b.death != nil:
		return 0
	case b.failure.GetCause() == proto.Failure_CAUSE_PEER:
		return graceForDeath
	case b.failure.GetCause() == proto.Failure_CAUSE_WAIT:
		return graceForWait
	default:
		return graceForPlain
	}
}

// explain finds the failure that caused the others: a death; else an error of a
// part; else, among waits in vain, the one for a process that waited for nobody
// itself; else a broken link.
func explain(blames []blame) error {
	b := rootCause(blames)
	if b.death != nil {
		return b.death
	}
	return errors.New(quote.Message(b.failure.GetMessage()))
}

func rootCause(blames []blame) blame {
	rank := func(b blame) int {
		switch {
		case b.death != nil:
			return -1
		case b.failure.GetCause() == proto.Failure_CAUSE_PEER:
			return 3
		case b.failure.GetCause() != proto.Failure_CAUSE_WAIT:
			return 0
		case waitsForWaiter(b, blames):
			return 2
		default:
			return 1
		}
	}
	return slices.MinFunc(blames, func(a, b blame) int { return rank(a) - rank(b) })
}

// waitsForWaiter says whether all of those that b waited for told of a wait of
// their own, so that the cause lies further on.
func waitsForWaiter(b blame, blames []blame) bool {
	for _, name := range b.failure.GetAbout() {
		if !slices.ContainsFunc(blames, func(o blame) bool {
			return o.from == name && o.failure.GetCause() == proto.Failure_CAUSE_WAIT
		}) {
			return false
		}
	}
	return true
}
