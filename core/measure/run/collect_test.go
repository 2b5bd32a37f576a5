package run

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk/proto"
)

// recorded is a process that sends a number of replies with a pause before each. It then returns the error end. If end
// is nil, the process falls silent.
type recorded struct {
	cluster.Process
	replies int
	pieces  []record.Piece // sent instead of the numbered replies
	pause   time.Duration
	end     error
	asked   int
	mute    bool // it sends no heartbeat
}

func (p *recorded) Site() cluster.Site      { return cluster.Site{Host: cluster.CoreHost} }
func (p *recorded) Exited() <-chan struct{} { return nil }

func (p *recorded) Close(context.Context, *proto.CloseRequest, ...grpc.CallOption) (*proto.CloseReply, error) {
	return &proto.CloseReply{}, nil
}

func (p *recorded) Watch(ctx context.Context, _ *proto.WatchRequest,
	_ ...grpc.CallOption) (grpc.ServerStreamingClient[proto.Event], error) {
	return &heartbeat{ctx: ctx, mute: p.mute}, nil
}

type heartbeat struct {
	grpc.ClientStream
	ctx  context.Context
	mute bool
}

func (h *heartbeat) Recv() (*proto.Event, error) {
	beat := time.After(time.Second)
	if h.mute {
		beat = nil
	}
	select {
	case <-beat:
		return &proto.Event{}, nil
	case <-h.ctx.Done():
		return nil, h.ctx.Err()
	}
}

func (p *recorded) Collect(ctx context.Context, _ *proto.CollectRequest,
	_ ...grpc.CallOption) (grpc.ServerStreamingClient[proto.CollectReply], error) {
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
	if s.sent < len(s.pieces) {
		s.sent++
		return convert.PieceToProto(s.pieces[s.sent-1]), nil
	}
	if s.sent == max(s.replies, len(s.pieces)) {
		if s.end == nil {
			<-s.ctx.Done()
			return nil, s.ctx.Err()
		}
		return nil, s.end
	}
	s.sent++
	return convert.PieceToProto(record.Losses{1}), nil
}

var errDied, errFailed = errors.New("trainer1 died"), errors.New("the run failed")

// Start returns the recorded process with the name in spec, so that starter implements Starter.
func (s starter) Start(_ context.Context, spec launch.Spec) (cluster.Process, error) {
	return s[spec.Name], nil
}

func (s starter) Site(string) cluster.Site { return cluster.Site{Host: cluster.CoreHost} }

func (s starter) Close(bool) error { return nil }

type starter map[string]*recorded

// collecting takes a run of the given processes through its last phase. The first process holds the data; the others
// are trainers. If the phase fails, collecting also salvages the records. It returns the run, the time for salvaging,
// and the error.
func collecting(phase func(*run, context.Context) error,
	processes ...*recorded) (r *run, took time.Duration, err error) {
	r = &run{e: experiment(len(processes)-1, 0, registry.Links{}), passing: record.Measured}
	r.e.Timeout = time.Second
	r.processes = layOut(r.e)
	s := starter{}
	for i, p := range r.processes.all {
		p.Env = func() []string { return nil }
		s[p.Name] = processes[i]
	}
	r.cluster = cluster.New(r.e.Timeout, r.processes.all,
		cluster.Options{Open: func(*placement.Layout, time.Duration, launch.Output) (cluster.Starter, error) {
			return s, nil
		}})
	err = r.cluster.Run(context.Background(), cluster.Life{
		Phases: []cluster.Phase{{Name: "launch", Do: r.cluster.Start},
			{Name: "collection", Do: func(ctx context.Context) error { return phase(r, ctx) }}},
		Tell: func(string) {},
		Salvage: func() {
			began := time.Now()
			r.salvage()
			took = time.Since(began)
		},
		Report: func(error) {},
	})
	return r, took, err
}

// fails returns an error after the monitor has found out which processes have a heartbeat.
func (r *run) fails(context.Context) error {
	time.Sleep(beatsHeard)
	return errFailed
}

// beatsHeard is longer than the monitor waits for a heartbeat. It is shorter than the time after which a missing
// heartbeat would end the run.
const beatsHeard = 1600 * time.Millisecond

// requireCollected checks how many replies of each process were stored, and that only complete records are marked
// complete.
func (r *run) requireCollected(t *testing.T, replies []int, complete []bool) {
	t.Helper()
	for i, s := range r.processes.all {
		if n := s.collected.came; n != replies[i] || s.collected.complete != complete[i] {
			t.Errorf("%d replies of %s are there, complete %v; want %d, %v", n, s.Name, s.collected.complete,
				replies[i], complete[i])
		}
	}
}

// A collection may take any time, if the pause between two pieces never exceeds the timeout.
func TestCollectionIsBoundedInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, err := collecting((*run).collect, &recorded{end: io.EOF},
			&recorded{replies: 100, pause: 900 * time.Millisecond, end: io.EOF})
		if err != nil {
			t.Errorf("a collection of 90 s fails: %v", err)
		}
		r.requireCollected(t, []int{0, 100}, []bool{true, true})
	})
	synctest.Test(t, func(t *testing.T) {
		r, _, err := collecting((*run).collect, &recorded{end: io.EOF}, &recorded{replies: 3, pause: time.Millisecond})
		if want := "the core waited 1 s for its metrics from trainer0"; err == nil || err.Error() != want {
			t.Errorf("silence gives %v, want %s", err, want)
		}
		r.requireCollected(t, []int{0, 3}, []bool{true, false})
	})
}

// A failed run keeps all replies that arrived. It has complete records of processes that still answer, even slow ones.
// Dead or silent processes leave partial records and delay nobody.
func TestSalvageKeepsWhatCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, dead := &recorded{replies: 2, mute: true}, &recorded{replies: 5, end: errDied}
		slow := &recorded{replies: 100, pause: 400 * time.Millisecond, end: io.EOF}
		r, _, _ := collecting((*run).fails, silent, dead, slow)
		r.requireCollected(t, []int{2, 5, 100}, []bool{false, false, true})
	})
	synctest.Test(t, func(t *testing.T) {
		r, took, _ := collecting((*run).fails, &recorded{mute: true}, &recorded{replies: 5, end: errDied})
		if took > 600*time.Millisecond {
			t.Errorf("a process without a sign of life holds the run up for %v", took)
		}
		r.requireCollected(t, []int{0, 5}, []bool{false, false})
	})
	synctest.Test(t, func(t *testing.T) {
		if _, took, _ := collecting((*run).fails, &recorded{}, &recorded{end: io.EOF}); took < 900*time.Millisecond ||
			took > 1200*time.Millisecond {
			t.Errorf("a process that is silent but alive holds the run up for %v, want the timeout of 1 s", took)
		}
	})
}

// A process that was collected before the failure is not asked again. If a process dies during the second collection,
// the replies from the first one are kept.
func TestSalvageGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole, part := &recorded{replies: 2, end: io.EOF}, &recorded{replies: 5, end: errDied}
		r, _, err := collecting(func(r *run, ctx context.Context) error {
			err := r.collect(ctx)
			part.replies = 3
			return err
		}, whole, part)
		if err == nil || err.Error() != errDied.Error() {
			t.Errorf("a death gives %v", err)
		}
		r.requireCollected(t, []int{2, 5}, []bool{true, false})
		if whole.asked != 1 || part.asked != 2 {
			t.Errorf("asked %d and %d times", whole.asked, part.asked)
		}
	})
}

// An error about an invalid reply names the process.
func TestRepliesThatCannotBe(t *testing.T) {
	p := &process{Member: &cluster.Member{Name: "server2", Process: &badly{reply: &proto.CollectReply{
		Piece: &proto.CollectReply_Series{Series: &proto.Series{Type: "a", Name: "b", Measurements: []byte{0xff}}},
	}}}}
	err := p.readRecord(t.Context(), record.Measured, func(piece record.Piece) error {
		t.Errorf("there is %v", piece)
		return nil
	})
	if want := "server2 sent a series a, b that cannot be: measurement 0 is cut off"; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// badly is a process that sends a single, invalid reply.
type badly struct {
	cluster.Process
	grpc.ServerStreamingClient[proto.CollectReply]
	reply *proto.CollectReply
}

func (b *badly) Collect(context.Context, *proto.CollectRequest,
	...grpc.CallOption) (grpc.ServerStreamingClient[proto.CollectReply], error) {
	return b, nil
}

func (b *badly) Recv() (*proto.CollectReply, error) { return b.reply, nil }
