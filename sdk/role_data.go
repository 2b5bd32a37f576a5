package sdk

import (
	"fmt"

	"github.com/psbench/psbench/sdk/proto"
)

// dataRole hosts the data: it loads once, checks every sample against the
// model, deals the batches and hands each trainer its share.
type dataRole struct {
	*station
	data    Data
	samples *Samples
	shares  [][]Batch // by trainer
}

func newDataRole(st *station) (*dataRole, error) {
	data, err := build[Data](st, st.req.GetPart(), DataEnv{
		Seed: st.req.GetSeed(), Trainers: int(st.req.GetTrainers()), BatchSize: int(st.req.GetBatchSize()),
	})
	if err != nil {
		return nil, err
	}
	r := &dataRole{station: st, data: data}
	if _, waits := data.(FittedData); waits {
		return r, nil
	}
	return r, r.load()
}

func (r *dataRole) load() (err error) {
	if r.samples, err = r.data.Load(); err != nil {
		return fmt.Errorf("data %s: %w", r.req.GetPart().GetKey(), err)
	}
	return nil
}

func (r *dataRole) deal(req *proto.DealRequest) (*proto.DealReply, error) {
	if data, waits := r.data.(FittedData); waits {
		data.Fit(inputsFromProto(req.GetInputs()))
		if err := r.load(); err != nil {
			return nil, err
		}
	}
	if err := r.samples.validate(req.GetInputs()); err != nil {
		return nil, err
	}
	batches, err := r.samples.cut(int(req.GetBatchSize()))
	if err != nil {
		return nil, err
	}
	var sets [][]int
	for _, s := range req.GetSets() {
		var set []int
		for _, t := range s.GetTrainers() {
			set = append(set, int(t))
		}
		sets = append(sets, set)
	}
	shares, dropped, err := dealBatches(batches, sets)
	if err != nil {
		return nil, err
	}
	r.shares = shares
	reply := &proto.DealReply{
		Samples: int64(r.samples.Size()), Batches: int64(len(batches)), Dropped: int64(dropped), OwnBatches: r.samples.Batches != nil,
	}
	for _, share := range shares {
		s := &proto.Share{Batches: int64(len(share))}
		for i := range share {
			s.Samples += int64(share[i].Size())
			s.DistinctRows = max(s.DistinctRows, int64(share[i].distinct()))
			s.BatchSamples = max(s.BatchSamples, int64(share[i].Size()))
			s.BatchIndices = max(s.BatchIndices, int64(len(share[i].Indices)))
		}
		reply.Shares = append(reply.Shares, s)
	}
	return reply, nil
}

// dealBatches deals round-robin among all trainers; then, since connected
// trainers must run equally many batches, every trainer of a set keeps only as
// many as the poorest of the set.
func dealBatches(batches []Batch, sets [][]int) (shares [][]Batch, dropped int, err error) {
	trainers := 0
	for _, set := range sets {
		trainers += len(set)
	}
	shares = make([][]Batch, trainers)
	for i, b := range batches {
		shares[i%trainers] = append(shares[i%trainers], b)
	}
	for _, set := range sets {
		least := len(shares[set[0]])
		for _, t := range set {
			least = min(least, len(shares[t]))
		}
		if least == 0 {
			return nil, 0, fmt.Errorf("too few batches (%d) for %d trainers: each needs at least one; lower the batch size or the count of trainers", len(batches), trainers)
		}
		for _, t := range set {
			dropped += len(shares[t]) - least
			shares[t] = shares[t][:least]
		}
	}
	return shares, dropped, nil
}

func (r *dataRole) connect(req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	for t, peer := range req.GetTrainers() {
		conn, err := r.accept(peer, purposeBatches)
		if err != nil {
			return nil, err
		}
		if err := r.sendShare(conn, r.shares[t]); err != nil {
			return nil, err
		}
		if err := conn.Close(); err != nil {
			return nil, err
		}
	}
	return &proto.ConnectReply{Facts: facts(nil, r.data)}, nil
}

func (r *dataRole) reset() error { return nil }

func (r *dataRole) collect(send func(*proto.CollectReply) error) error { return r.collectSeries(send) }
