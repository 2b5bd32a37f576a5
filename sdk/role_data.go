package sdk

import (
	"fmt"
	"slices"

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
	data, err := build[Data](st, st.req.GetPart(), DataEnv{Seed: st.req.GetSeed()})
	if err != nil {
		return nil, err
	}
	r := &dataRole{station: st, data: data}
	if r.samples, err = data.Load(); err != nil {
		return nil, fmt.Errorf("data %s: %w", st.req.GetPart().GetKey(), err)
	}
	return r, nil
}

func (r *dataRole) deal(req *proto.DealRequest) (*proto.DealReply, error) {
	if err := r.samples.validate(req.GetModel()); err != nil {
		return nil, err
	}
	batches := r.samples.cut(int(req.GetBatchSize()))
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
	reply := &proto.DealReply{Samples: int64(r.samples.Size()), Batches: int64(len(batches)), Dropped: int64(dropped)}
	for _, share := range shares {
		s := &proto.Share{Batches: int64(len(share))}
		for i := range share {
			s.Samples += int64(share[i].Size())
			s.DistinctRows = max(s.DistinctRows, int64(share[i].distinct()))
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

// validate checks every index and target against the model's bounds.
func (s *Samples) validate(m *proto.ModelDescription) error {
	if s == nil || s.Size() == 0 {
		return fmt.Errorf("the data holds no samples")
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("the data does not hold together: %w", err)
	}
	for i := range s.Size() {
		for p, v := range s.Bag(i) {
			if v < 0 || v >= m.GetRows() {
				return fmt.Errorf("%s: index %d is outside the embedding's range of 0 to %d", s.where(i, p), v, m.GetRows()-1)
			}
		}
		if t := s.Targets[i]; t < 0 || t >= m.GetClasses() {
			return fmt.Errorf("%s: target %d is outside the model's classes of 0 to %d", s.where(i, -1), t, m.GetClasses()-1)
		}
	}
	return nil
}

func (s *Samples) where(sample, position int) string {
	text := fmt.Sprintf("sample %d", sample)
	if position >= 0 {
		text += fmt.Sprintf(", position %d", position)
	}
	if s.Origin != nil {
		text += " (" + s.Origin(sample, position) + ")"
	}
	return text
}

// cut makes batches of size samples in sample order; the last may be short.
func (s *Samples) cut(size int) []Batch {
	var out []Batch
	for from := 0; from < s.Size(); from += size {
		to := min(from+size, s.Size())
		var b Batch
		for i := from; i < to; i++ {
			b.Append(s.Bag(i), s.Targets[i])
		}
		out = append(out, b)
	}
	return out
}

func (b *Batch) distinct() int {
	rows := slices.Clone(b.Indices)
	slices.Sort(rows)
	return len(slices.Compact(rows))
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
