package host

import (
	"time"

	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk/proto"
)

// heartbeatEvery is the interval at which a process sends a heartbeat.
const heartbeatEvery = time.Second

// Watch sends the process's events and heartbeats while the core listens. Watch polls the number of
// finished iterations at the interval that the core requests.
func (p *service) Watch(req *proto.WatchRequest, stream proto.Part_WatchServer) error {
	p.events.TellEpochs(int(req.GetEpochsEvery()))
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	var look <-chan time.Time
	if every := time.Duration(req.GetIterationsEveryNs()); every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		look = ticker.C
	}
	heartbeat := &proto.Event{Event: &proto.Event_Heartbeat{Heartbeat: &proto.Heartbeat{}}}
	event := heartbeat
	var sent record.Iterations
	for {
		if event != nil {
			if err := stream.Send(event); err != nil {
				return err
			}
		}
		event = nil
		select {
		case err := <-p.events.Failures:
			event = &proto.Event{Event: &proto.Event_Failure{Failure: convert.FailureToProto(fault.Describe(err))}}
		case epoch := <-p.events.Epochs:
			event = &proto.Event{Event: &proto.Event_Progress{Progress: &proto.Progress{
				Epoch: int32(epoch.Number), // #nosec G115 -- an epoch count fits
				Pass:  convert.PassToProto(epoch.Pass),
			}}}
		case <-look:
			if now := p.events.Iterations(); now.Done > 0 && (now.Done != sent.Done || now.Pass != sent.Pass) {
				event = &proto.Event{Event: &proto.Event_Iterations{Iterations: convert.IterationsToProto(now)}}
				sent = now
			}
		case <-beat.C:
			event = heartbeat
		case <-stream.Context().Done():
			return nil
		}
	}
}
