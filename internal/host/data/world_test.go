package data

import (
	"fmt"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// taker is a trainer that only takes batches.
type taker struct {
	*process.Process
	inputs sdk.InputSpec
	*batches.Fetched
}

// dataOf starts a data role and the trainers that take its batches.
func dataOf(t testing.TB, data sdk.Data, transport string, timeout time.Duration, trainers int) (*Role, []*taker) {
	t.Helper()
	dir := hosttest.Folder(t)
	parts := []sdk.Part{sdk.NewData("tape", struct{}{}, func(struct{}, sdk.DataEnv) (sdk.Data, error) {
		return data, nil
	})}
	var takers []*taker
	for i := range trainers {
		p := hosttest.Process(t, dir, nil, process.Config{
			Name: fmt.Sprintf("trainer%d", i), Transport: transport, Listen: "127.0.0.1", Timeout: timeout,
		})
		takers = append(takers, &taker{Process: p})
	}
	r, err := New(hosttest.Process(t, dir, parts, process.Config{
		Name: "data", Part: hosttest.Choice("data", "tape"),
		Transport: transport, Listen: "127.0.0.1", Timeout: timeout,
	}), sdk.DataEnv{Trainers: trainers})
	hosttest.Must(t, err)
	return r, takers
}

// fetch makes all trainers take their shares.
func fetch(t testing.TB, r *Role, takers []*taker, in sdk.InputSpec, partition *batches.Partition) {
	t.Helper()
	var trainers []process.Peer
	fetched := make(chan error, len(takers))
	for i, taker := range takers {
		trainers = append(trainers, hosttest.PeerOf(taker.Process))
		taker.inputs = in
		go func() {
			var err error
			taker.Fetched, err = batches.Fetch(taker.Process, nil, in,
				batches.Source{Data: hosttest.PeerOf(r.Process), Share: partition.Shares[i],
					Streamed: partition.Streamed})
			fetched <- err
		}()
	}
	_, err := r.Connect(trainers)
	hosttest.Must(t, err)
	for range takers {
		hosttest.Must(t, <-fetched)
	}
}

// request asks for batches of size samples for one set of all trainers.
func request(in sdk.InputSpec, size, trainers int) Request {
	var set []int
	for t := range trainers {
		set = append(set, t)
	}
	return Request{Inputs: in, BatchSize: size, Sets: [][]int{set}}
}
