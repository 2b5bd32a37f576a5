// Package bench is the role of the processes that psbench comm measures with, whatever the
// operation: package comm/bench has those.
package bench

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/bench"
	"github.com/psbench/psbench/comm/fabric"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/convert"
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/proto"
)

// Kind is the role of the processes that psbench comm measures with. It is no kind of
// part: every plugin process can take it.
const Kind sdk.Kind = "bench"

// Role measures the data plane: it carries out one operation many times, as
// a trainer would, and times each. Every round with fresh values is verified.
type Role struct {
	*process.Process
	store  *comm.Store
	links  bench.Links
	sync   comm.GroupLink // lines the ranks up
	copied *tensor.Bucket // outside the store; made for the bucket in work
}

// purposeSync is that of the links over which barriers around a round go, whatever is
// measured.
const purposeSync = "sync"

// New makes the role of a configured process.
func New(p *process.Process) *Role { return &Role{Process: p} }

// Connect makes the buckets and joins what the measurements need.
func (r *Role) Connect(req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	var err error
	if r.store, err = r.NewStore(convert.BucketsFromProto(req.GetBuckets())); err != nil {
		return nil, err
	}
	r.Own(r.store)
	if server := req.GetServer(); server != nil {
		if r.links.Server, err = r.JoinServer(server, r.store); err != nil {
			return nil, err
		}
	}
	if req.GetGroup() {
		if r.links.Group, err = r.JoinGroup(r.Fabric, req, r.store, process.PurposeGroup); err != nil {
			return nil, err
		}
	}
	ring := &proto.ConnectRequest{Ring: req.GetSyncRing(), Position: req.GetPosition()}
	r.sync, err = r.JoinGroup(fabric.Default(), ring, comm.NewStore(nil), purposeSync)
	return &proto.ConnectReply{}, err
}

// Reset has nothing to reset: a measurement begins anew by itself.
func (r *Role) Reset() error { return nil }

// Collect has nothing to send: a measurement is the answer to Measure.
func (r *Role) Collect(func(*proto.CollectReply) error) error { return nil }

// Measure carries out rounds of one operation. A fresh round is
//
//	write new values, line up, [operation], line up, verify
//
// of which only the part in brackets is timed: neither the writing nor the
// verifying of one rank disturbs the operation of another. Warm rounds follow
// one fresh round, which counts as a round but is not timed: zeros go round and
// round, back to back.
func (r *Role) Measure(req *proto.MeasureRequest) (*proto.MeasureReply, error) {
	w, err := r.prepare(req)
	if err != nil {
		return nil, err
	}
	latencies := make([]int64, req.GetRounds())
	number := req.GetFirst()
	if !req.GetFresh() {
		if err := w.warmUp(number); err != nil {
			return nil, err
		}
		number++
	}
	for i := range latencies {
		if req.GetFresh() {
			latencies[i], err = w.freshRound(number)
		} else {
			latencies[i], err = w.timed(number)
		}
		if err != nil {
			return nil, err
		}
		number++
	}
	return &proto.MeasureReply{LatencyNs: latencies, Mismatch: w.mismatch}, nil
}

// work is one operation on one bucket.
type work struct {
	*Role
	operation *bench.Operation
	bucket    *tensor.Bucket // nil where none moves
	values    *bench.Values
	round     bench.Round
	unchecked bool
	mismatch  string // the first one
}

func (r *Role) prepare(req *proto.MeasureRequest) (*work, error) {
	if req.GetRounds() < 1 || req.GetFirst() < 0 {
		return nil, fmt.Errorf("%s cannot measure %d rounds from round %d on: there must be one or more, from 0 on", r.Name(), req.GetRounds(), req.GetFirst())
	}
	w := &work{Role: r, operation: bench.Find(req.GetOperation())}
	switch {
	case w.operation == nil:
		return nil, fmt.Errorf("%s does not know the operation %q", r.Name(), req.GetOperation())
	case w.operation.Served && r.links.Server == nil:
		return nil, fmt.Errorf("%s cannot run %s: it has joined no server", r.Name(), w.operation.Name)
	case !w.operation.Served && r.links.Group == nil:
		return nil, fmt.Errorf("%s cannot run %s: it has joined no group", r.Name(), w.operation.Name)
	case w.operation.Empty:
		return w, nil
	}
	w.unchecked = w.operation.Served && req.GetExpect() == proto.MeasureRequest_EXPECT_ANY
	w.values = bench.NewValues(req.GetDensity(), w.operation.Served && req.GetExpect() == proto.MeasureRequest_EXPECT_MEAN)
	w.round = bench.Round{Rank: r.Rank(), Trainers: r.sync.Size()}
	for _, rank := range req.GetPartners() {
		w.round.Partners = append(w.round.Partners, int(rank))
	}
	var err error
	w.bucket, err = r.bucket(int(req.GetBucket()), req.GetCopy())
	return w, err
}

// bucket is the one to work on: that of the store or, copied, one beside it.
func (r *Role) bucket(k int, copied bool) (*tensor.Bucket, error) {
	if k < 0 || k >= len(r.store.Buckets) {
		return nil, fmt.Errorf("%s has no bucket %d: it has %d", r.Name(), k, len(r.store.Buckets))
	}
	b := r.store.Buckets[k]
	if b.Sparse && b.Capacity < b.TableRows {
		return nil, fmt.Errorf("%s has room for %d rows of bucket %d, whose table has %d: any of them may be drawn", r.Name(), b.Capacity, k, b.TableRows)
	}
	if !copied {
		return b, nil
	}
	if r.copied == nil || r.copied.Index != k {
		r.copied = tensor.NewBucket(b.BucketSpec)
	}
	return r.copied, nil
}

// freshRound is a round with new values; it returns the latency in ns.
func (w *work) freshRound(number int64) (int64, error) {
	if w.bucket != nil {
		if err := w.values.Fill(w.bucket, w.Rank(), number); err != nil {
			return 0, err
		}
	}
	if err := w.sync.Barrier(); err != nil {
		return 0, err
	}
	latency, err := w.timed(number)
	if err != nil {
		return 0, err
	}
	if err := w.sync.Barrier(); err != nil {
		return 0, err
	}
	w.verify(number)
	return latency, nil
}

// warmUp makes the gradient zero after one round that was verified.
func (w *work) warmUp(number int64) error {
	if _, err := w.freshRound(number); err != nil {
		return err
	}
	if w.bucket != nil {
		clear(w.bucket.Gradient.Values)
	}
	return w.sync.Barrier()
}

// timed carries out the operation and returns how long it took in ns.
func (w *work) timed(number int64) (int64, error) {
	start := comm.Now()
	err := w.operation.Run(w.links, number, w.bucket)
	return comm.Now() - start, err
}

// verify compares every element with what the ranks' values make of it.
func (w *work) verify(number int64) {
	if w.bucket == nil || w.unchecked || w.mismatch != "" {
		return
	}
	w.round.Number, w.round.Elements = number, w.bucket.Elements
	if where, how := w.values.Mismatch(w.bucket, number, w.operation.Expect(w.round)); where != "" {
		w.mismatch = fmt.Sprintf("%s of round %d on %s %s", where, number, w.Name(), how)
	}
}
