package monitor

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk/proto"
)

// teller is a process that runs until it has sent all its events.
type teller struct {
	grpc.ServerStreamingClient[proto.Event]
	asked  time.Duration
	epochs int32
	events []*proto.Event
	told   chan struct{}
}

func (t *teller) Exited() <-chan struct{} { return nil }
func (t *teller) Death(string) error      { return nil }
func (t *teller) Watch(_ context.Context, req *proto.WatchRequest,
	_ ...grpc.CallOption) (grpc.ServerStreamingClient[proto.Event], error) {
	t.epochs = req.GetEpochsEvery()
	t.asked = time.Duration(req.GetIterationsEveryNs())
	return t, nil
}

func (t *teller) Recv() (*proto.Event, error) {
	if len(t.events) == 0 {
		close(t.told)
		return nil, io.EOF
	}
	event := t.events[0]
	t.events = t.events[1:]
	return event, nil
}

// The monitor asks a process for iterations only if there is a follower. The follower gets them in order.
func TestFollower(t *testing.T) {
	for _, followed := range []bool{true, false} {
		t.Run(fmt.Sprint(followed), func(t *testing.T) {
			var epochs []int
			var iterations []record.Iterations
			follower := &Follower{
				EpochsEvery: 5,
				Epoch:       func(pass record.Pass, epoch int) { epochs = append(epochs, int(pass), epoch) },
				Iterations:  func(i record.Iterations) { iterations = append(iterations, i) },
			}
			asked, askedEpochs, wantEpochs, wantIterations := iterationsEvery, int32(5), []int{int(record.WarmUp),
				3}, []record.Iterations{{Pass: record.Measured, Done: 7, Loss: 0.5}}
			if !followed {
				follower, asked, askedEpochs, wantEpochs, wantIterations = nil, 0, 0, nil, nil
			}
			p := &teller{told: make(chan struct{}), events: []*proto.Event{
				{Event: &proto.Event_Heartbeat{}},
				{Event: &proto.Event_Progress{Progress: &proto.Progress{Epoch: 3, Pass: proto.Pass_PASS_WARM_UP}}},
				{Event: &proto.Event_Iterations{
					Iterations: &proto.Iterations{Done: 7, Loss: 0.5, Pass: proto.Pass_PASS_MEASURED},
				}},
			}}
			_, m := monitored(t, t.Context(), time.Minute)
			m.Watch("trainer0", p, follower)
			<-p.told
			if p.asked != asked || p.epochs != askedEpochs || !slices.Equal(epochs, wantEpochs) ||
				!slices.Equal(iterations, wantIterations) {
				t.Errorf("followed %v: asked for every %v, told of %v and %+v", followed, p.asked, epochs, iterations)
			}
		})
	}
}
