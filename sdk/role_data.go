package sdk

import (
	"fmt"
	"slices"
	"time"

	"github.com/psbench/psbench/comm"
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
		if err := conn.SetWriteDeadline(time.Now().Add(r.timeout)); err != nil {
			return nil, err
		}
		if err := sendBatches(conn, r.shares[t]); err != nil {
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

// A share travels as one frame that says how many batches follow, then one
// frame per batch: offsets, indices, targets.
const (
	opShare = comm.OpUser + iota
	opBatch
)

func sendBatches(conn *comm.Conn, share []Batch) error {
	if err := conn.Send(&comm.Header{Op: opShare, Arg: int64(len(share))}); err != nil {
		return err
	}
	for i := range share {
		if err := sendBatch(conn, opBatch, &share[i]); err != nil {
			return err
		}
	}
	return nil
}

func sendBatch(conn *comm.Conn, op comm.Op, b *Batch) error {
	h := comm.Header{Op: op, Arg: int64(b.Size()), Arg2: int64(len(b.Indices))}
	return conn.Send(&h, comm.Int64Bytes(b.Offsets), comm.Int64Bytes(b.Indices), comm.Int64Bytes(b.Targets))
}

func receiveBatches(conn *comm.Conn) ([]Batch, error) {
	var h comm.Header
	if err := expect(conn, &h, opShare); err != nil {
		return nil, err
	}
	var share []Batch
	for range h.Arg {
		if err := expect(conn, &h, opBatch); err != nil {
			return nil, err
		}
		var b Batch
		if err := readBatch(conn, &h, &b); err != nil {
			return nil, err
		}
		share = append(share, b)
	}
	return share, nil
}

// readBatch reads the batch that h announces into b, whose storage it uses
// again.
func readBatch(conn *comm.Conn, h *comm.Header, b *Batch) error {
	size, indices := h.Arg, h.Arg2
	// Offsets, then indices, then targets.
	if !fits(size, 1) || !fits(indices, 1) || h.Payload != uint64(8*(2*size+1+indices)) { // #nosec G115 -- neither is negative
		return fmt.Errorf("%s sent a batch of %d samples and %d indices in %d bytes", conn.Peer(), size, indices, h.Payload)
	}
	var err error
	if b.Offsets, err = readGrowing(conn, b.Offsets, int(size+1), comm.Int64Bytes); err != nil {
		return err
	}
	if b.Indices, err = readGrowing(conn, b.Indices, int(indices), comm.Int64Bytes); err != nil {
		return err
	}
	if b.Targets, err = readGrowing(conn, b.Targets, int(size), comm.Int64Bytes); err != nil {
		return err
	}
	if err := b.check(); err != nil {
		return fmt.Errorf("%s sent a batch that does not hold together: %w", conn.Peer(), err)
	}
	return nil
}

// expect reads a header and checks its operation.
func expect(conn *comm.Conn, h *comm.Header, op comm.Op) error {
	if err := conn.ReadHeader(h); err != nil {
		return err
	}
	if h.Op != op {
		return fmt.Errorf("%s sent operation %#x where %#x is due", conn.Peer(), h.Op, op)
	}
	return nil
}
