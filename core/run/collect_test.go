package run

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/core/monitor"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/sdk/proto"
)

// recorded is a process that sends so many replies, one after each pause, and then ends,
// dies with an error or, without one, says nothing more.
type recorded struct {
	proto.PartClient
	replies int
	pause   time.Duration
	end     error
	asked   int
}

func (p *recorded) Collect(ctx context.Context, _ *proto.CollectRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[proto.CollectReply], error) {
	p.asked++
	return &recordedStream{ctx: ctx, recorded: p}, nil
}

type recordedStream struct {
	grpc.ClientStream
	*recorded
	ctx  context.Context
	sent int
}

func (s *recordedStream) Recv() (*proto.CollectReply, error) {
	select {
	case <-time.After(s.pause):
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
	if s.sent == s.replies {
		if s.end == nil {
			<-s.ctx.Done()
			return nil, s.ctx.Err()
		}
		return nil, s.end
	}
	s.sent++
	return &proto.CollectReply{}, nil
}

var errDied = errors.New("trainer1 died")

// collecting is a run in its collection, whose data process and trainers are these.
func collecting(t *testing.T, processes ...*recorded) (*run, context.Context) {
	t.Helper()
	r := &run{e: experiment(len(processes)-1, 0, registry.Links{}), passing: proto.Pass_PASS_MEASURED}
	r.e.Timeout = time.Second
	r.seats = place(r.e)
	for i, s := range r.seats.all {
		s.process = &launch.Process{PartClient: processes[i]}
	}
	ctx, m := monitor.New(t.Context(), r.e.Timeout)
	r.monitor = m
	return r, ctx
}

// requireCollected compares how many replies each process's seat holds, and that only the
// complete ones count as complete.
func (r *run) requireCollected(t *testing.T, replies []int, complete []bool) {
	t.Helper()
	for i, s := range r.seats.all {
		if n := len(s.collected.replies); n != replies[i] || s.collected.complete != complete[i] {
			t.Errorf("%d replies of %s are there, complete %v; want %d, %v", n, s.name, s.collected.complete, replies[i], complete[i])
		}
	}
}

// A collection may last any time, as long as something comes within each timeout.
func TestCollectionIsBoundedInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ctx := collecting(t, &recorded{end: io.EOF}, &recorded{replies: 100, pause: 900 * time.Millisecond, end: io.EOF})
		defer r.monitor.Stop()
		if err := r.collect(ctx); err != nil {
			t.Errorf("a collection of 90 s fails: %v", err)
		}
		r.requireCollected(t, []int{0, 100}, []bool{true, true})
	})
	synctest.Test(t, func(t *testing.T) {
		r, ctx := collecting(t, &recorded{end: io.EOF}, &recorded{replies: 3, pause: time.Millisecond})
		defer r.monitor.Stop()
		err := r.collect(ctx)
		if want := "the core waited 1 s for its metrics from trainer0"; err == nil || err.Error() != want {
			t.Errorf("silence gives %v, want %s", err, want)
		}
		r.requireCollected(t, []int{0, 3}, []bool{true, false})
	})
}

// A failed run keeps what came: all of those that answer, however long that takes, and a
// part of those that died or fell silent, which hold nobody up.
func TestSalvageKeepsWhatCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, dead := &recorded{replies: 2}, &recorded{replies: 5, end: errDied}
		slow := &recorded{replies: 100, pause: 400 * time.Millisecond, end: io.EOF}
		r, _ := collecting(t, silent, dead, slow)
		defer r.monitor.Stop()
		r.salvage()
		r.requireCollected(t, []int{2, 5, 100}, []bool{false, false, true})
	})
	synctest.Test(t, func(t *testing.T) {
		r, _ := collecting(t, &recorded{}, &recorded{replies: 5, end: errDied})
		defer r.monitor.Stop()
		began := time.Now()
		r.salvage()
		if took := time.Since(began); took > time.Second {
			t.Errorf("a silent process holds the run up for %v", took)
		}
	})
}

// Who was collected before the failure is not asked again, and who dies during the second
// collection does not take away what the first one brought.
func TestSalvageGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole, part := &recorded{replies: 2, end: io.EOF}, &recorded{replies: 5, end: errDied}
		r, ctx := collecting(t, whole, part)
		defer r.monitor.Stop()
		if err := r.collect(ctx); !errors.Is(err, errDied) {
			t.Errorf("a death gives %v", err)
		}
		part.replies = 3
		r.salvage()
		r.requireCollected(t, []int{2, 5}, []bool{true, false})
		if whole.asked != 1 || part.asked != 2 {
			t.Errorf("asked %d and %d times", whole.asked, part.asked)
		}
	})
}
