package process

import (
	"time"

	"github.com/psbench/psbench/sdk/host/fault"
	"github.com/psbench/psbench/sdk/proto"
)

// Events carries what a process tells the core on its own: that it lives, how
// far it is, and what failed outside a call.
type Events struct {
	Failures chan *proto.Event
	progress chan *proto.Event
}

// heartbeatEvery is how often a process says that it lives.
const heartbeatEvery = time.Second

func NewEvents() *Events {
	return &Events{Failures: make(chan *proto.Event, 16), progress: make(chan *proto.Event, 16)}
}

// Fail reports err. The first failures are what counts: when nobody listens
// and the queue is full, later ones are dropped.
func (e *Events) Fail(err error) {
	select {
	case e.Failures <- &proto.Event{Event: &proto.Event_Failure{Failure: fault.ToProto(err)}}:
	default:
	}
}

// Epoch reports that an epoch begins, or drops the news if nobody listens.
func (e *Events) Epoch(n int) {
	select {
	case e.progress <- &proto.Event{Event: &proto.Event_Progress{Progress: &proto.Progress{Epoch: int32(n)}}}: // #nosec G115 -- an epoch count fits
	default:
	}
}

func (e *Events) Stream(stream proto.Part_WatchServer) error {
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	heartbeat := &proto.Event{Event: &proto.Event_Heartbeat{Heartbeat: &proto.Heartbeat{}}}
	event := heartbeat
	for {
		if err := stream.Send(event); err != nil {
			return err
		}
		select {
		case event = <-e.Failures:
		case event = <-e.progress:
		case <-beat.C:
			event = heartbeat
		case <-stream.Context().Done():
			return nil
		}
	}
}
