package data

import (
	"fmt"
	"testing"
	"time"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/batches"
	"github.com/psbench/psbench/sdk/host/internal/hosttest"
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/proto"
)

// taker is a trainer as far as it takes batches.
type taker struct {
	*process.Process
	inputs *proto.Inputs
	*batches.Fetched
}

// dataOf hosts data, and the trainers that take it.
func dataOf(t testing.TB, data sdk.Data, transport string, timeout time.Duration, trainers int) (*Role, []*taker) {
	t.Helper()
	dir := hosttest.Folder(t)
	parts := []sdk.Part{sdk.NewData("tape", struct{}{}, func(struct{}, sdk.DataEnv) (sdk.Data, error) { return data, nil })}
	var takers []*taker
	for i := range trainers {
		st := hosttest.Process(t, dir, nil, &proto.ConfigureRequest{
			Name: fmt.Sprintf("trainer%d", i), Transport: transport, Listen: "127.0.0.1", TimeoutNs: int64(timeout),
		})
		takers = append(takers, &taker{Process: st})
	}
	r, err := New(hosttest.Process(t, dir, parts, &proto.ConfigureRequest{
		Name: "data", Part: &proto.PartChoice{Kind: "data", Key: "tape"},
		Transport: transport, Listen: "127.0.0.1", TimeoutNs: int64(timeout),
	}))
	hosttest.Must(t, err)
	return r, takers
}

// fetch has all trainers take what was dealt.
func fetch(t testing.TB, r *Role, takers []*taker, in *proto.Inputs, deal *proto.DealReply) {
	t.Helper()
	req := &proto.ConnectRequest{}
	fetched := make(chan error, len(takers))
	for i, taker := range takers {
		req.Trainers = append(req.Trainers, hosttest.PeerOf(taker.Process))
		taker.inputs = in
		go func() {
			var err error
			taker.Fetched, err = batches.Fetch(taker.Process, nil, in, &proto.ConnectRequest{Data: hosttest.PeerOf(r.Process), Share: deal.GetShares()[i], Streamed: deal.GetStreamed()})
			fetched <- err
		}()
	}
	_, err := r.Connect(req)
	hosttest.Must(t, err)
	for range takers {
		hosttest.Must(t, <-fetched)
	}
}

// request is for batches of size samples for a set of all trainers.
func request(in *proto.Inputs, size int32, trainers int) *proto.DealRequest {
	set := &proto.TrainerSet{}
	for t := range trainers {
		set.Trainers = append(set.Trainers, int32(t))
	}
	return &proto.DealRequest{Inputs: in, BatchSize: size, Sets: []*proto.TrainerSet{set}}
}
