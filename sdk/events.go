package sdk

import (
	"time"

	"github.com/psbench/psbench/sdk/proto"
)

// events carries what a process tells the core on its own: that it lives, how
// far it is, and what failed outside a call.
type events struct {
	failures chan *proto.Event
	progress chan *proto.Event
}

// heartbeatEvery is how often a process says that it lives.
const heartbeatEvery = time.Second

func newEvents() *events {
	return &events{failures: make(chan *proto.Event, 16), progress: make(chan *proto.Event, 16)}
}

// fail reports err. The first failures are what counts: when nobody listens
// and the queue is full, later ones are dropped.
func (e *events) fail(err error) {
	select {
	case e.failures <- &proto.Event{Event: &proto.Event_Failure{Failure: asFailure(err)}}:
	default:
	}
}

// epoch reports that an epoch begins, or drops the news if nobody listens.
func (e *events) epoch(n int) {
	select {
	case e.progress <- &proto.Event{Event: &proto.Event_Progress{Progress: &proto.Progress{Epoch: int32(n)}}}: // #nosec G115 -- an epoch count fits
	default:
	}
}

func (e *events) stream(stream proto.Part_WatchServer) error {
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	heartbeat := &proto.Event{Event: &proto.Event_Heartbeat{Heartbeat: &proto.Heartbeat{}}}
	event := heartbeat
	for {
		if err := stream.Send(event); err != nil {
			return err
		}
		select {
		case event = <-e.failures:
		case event = <-e.progress:
		case <-beat.C:
			event = heartbeat
		case <-stream.Context().Done():
			return nil
		}
	}
}
