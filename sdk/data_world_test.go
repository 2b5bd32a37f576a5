package sdk

import (
	"fmt"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// taker is a trainer as far as it takes batches.
type taker struct {
	*station
	inputs *proto.Inputs
	*fetched
}

// dataOf hosts data, and the trainers that take it.
func dataOf(t testing.TB, data Data, transport comm.Transport, timeout time.Duration, trainers int) (*dataRole, []*taker) {
	t.Helper()
	dir := folder(t)
	parts := []Part{NewData("tape", struct{}{}, func(struct{}, DataEnv) (Data, error) { return data, nil })}
	var takers []*taker
	for i := range trainers {
		st := stationOf(t, dir, nil, &proto.ConfigureRequest{
			Name: fmt.Sprintf("trainer%d", i), Transport: string(transport), Listen: "127.0.0.1", TimeoutNs: int64(timeout),
		})
		takers = append(takers, &taker{station: st})
	}
	r, err := newDataRole(stationOf(t, dir, parts, &proto.ConfigureRequest{
		Name: "data", Part: &proto.PartChoice{Kind: "data", Key: "tape"},
		Transport: string(transport), Listen: "127.0.0.1", TimeoutNs: int64(timeout),
	}))
	must(t, err)
	return r, takers
}

// fetch has all trainers take what was dealt.
func fetch(t testing.TB, r *dataRole, takers []*taker, in *proto.Inputs, deal *proto.DealReply) {
	t.Helper()
	req := &proto.ConnectRequest{}
	fetched := make(chan error, len(takers))
	for i, taker := range takers {
		req.Trainers = append(req.Trainers, peerOf(taker.station))
		taker.inputs = in
		go func() {
			var err error
			taker.fetched, err = fetchBatches(taker.station, nil, in, &proto.ConnectRequest{Data: peerOf(r.station), Share: deal.GetShares()[i], Streamed: deal.GetStreamed()})
			fetched <- err
		}()
	}
	_, err := r.connect(req)
	must(t, err)
	for range takers {
		must(t, <-fetched)
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
