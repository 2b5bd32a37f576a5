package bench

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/settings"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/convert"
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/proto"
)

// KindBench is the role of the processes that psbench comm measures with. It is
// no kind of part: every plugin process can take it.
const Kind sdk.Kind = "bench"

// Settings are the settings of a bench process, which travel as those of a
// part do.
type Settings struct {
	// Ranks that push to the same server as this one, in order.
	Ranks []int `json:"ranks"`
	// Density is the share of a table's rows that a rank pushes in a round.
	Density float64 `json:"density"`
}

// Role measures the data plane: it carries out one operation many times, as
// a trainer would, and times each. Every round with fresh values is verified.
type Role struct {
	*process.Process
	settings Settings
	store    *comm.Store
	server   comm.ServerLink // nil without push-pull
	group    comm.GroupLink  // nil without collectives
	sync     comm.GroupLink  // lines the ranks up
	copied   *tensor.Bucket  // outside the store; made for the bucket in work
}

// purposeSync is that of the links over which barriers around a round go, whatever is
// measured.
const purposeSync = "sync"

func New(st *process.Process) (*Role, error) {
	r := &Role{Process: st, settings: Settings{Density: 1}}
	if err := settings.Decode(st.Req.GetPart().GetSettings(), &r.settings); err != nil {
		return nil, fmt.Errorf("%s: %w", st.Name(), err)
	}
	return r, nil
}

func (r *Role) Connect(req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	var err error
	if r.store, err = r.NewStore(convert.BucketsFromProto(req.GetBuckets())); err != nil {
		return nil, err
	}
	r.Own(r.store)
	if server := req.GetServer(); server != nil {
		if r.server, err = r.JoinServer(server, r.store); err != nil {
			return nil, err
		}
	}
	if req.GetGroup() {
		if r.group, err = r.JoinGroup(r.Fabric, req, r.store, process.PurposeGroup); err != nil {
			return nil, err
		}
	}
	ring := &proto.ConnectRequest{Ring: req.GetSyncRing(), Position: req.GetPosition()}
	r.sync, err = r.JoinGroup(comm.DefaultFabric(), ring, comm.NewStore(nil), purposeSync)
	return &proto.ConnectReply{}, err
}

func (r *Role) Reset() error                                  { return nil }
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
	operation proto.MeasureRequest_Operation
	bucket    *tensor.Bucket // nil for a barrier
	check     benchCheck
	unchecked bool
	mismatch  string // the first one
}

func (r *Role) prepare(req *proto.MeasureRequest) (*work, error) {
	if req.GetRounds() < 1 || req.GetFirst() < 0 {
		return nil, fmt.Errorf("%s cannot measure %d rounds from round %d on: there must be one or more, from 0 on", r.Name(), req.GetRounds(), req.GetFirst())
	}
	w := &work{Role: r, operation: req.GetOperation()}
	w.check.chance = rowChance(r.settings.Density)
	switch w.operation {
	case proto.MeasureRequest_OPERATION_PUSH_PULL:
		if r.server == nil {
			return nil, fmt.Errorf("%s cannot push: it has joined no server", r.Name())
		}
		w.unchecked = req.GetExpect() == proto.MeasureRequest_EXPECT_ANY
		w.check.mean = req.GetExpect() == proto.MeasureRequest_EXPECT_MEAN
	default:
		if r.group == nil {
			return nil, fmt.Errorf("%s cannot run %s: it has joined no group", r.Name(), w.operation)
		}
	}
	if w.operation == proto.MeasureRequest_OPERATION_BARRIER {
		return w, nil
	}
	k := int(req.GetBucket())
	if k < 0 || k >= len(r.store.Buckets) {
		return nil, fmt.Errorf("%s has no bucket %d: it has %d", r.Name(), k, len(r.store.Buckets))
	}
	w.bucket = r.store.Buckets[k]
	if w.bucket.Sparse && w.bucket.Capacity < w.bucket.TableRows {
		return nil, fmt.Errorf("%s has room for %d rows of bucket %d, whose table has %d: any of them may be drawn", r.Name(), w.bucket.Capacity, k, w.bucket.TableRows)
	}
	if req.GetCopy() {
		if r.copied == nil || r.copied.Index != k {
			r.copied = tensor.NewBucket(w.bucket.BucketSpec)
		}
		w.bucket = r.copied
	}
	return w, nil
}

// freshRound is a round with new values; it returns the latency in ns.
func (w *work) freshRound(number int64) (int64, error) {
	if w.bucket != nil {
		if err := fillBench(w.bucket, benchKey(w.Rank(), number), w.check.chance); err != nil {
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
	var err error
	switch w.operation {
	case proto.MeasureRequest_OPERATION_PUSH_PULL:
		err = w.server.PushPull(number, w.bucket).Wait()
	case proto.MeasureRequest_OPERATION_ALL_REDUCE:
		err = w.group.AllReduce(number, w.bucket).Wait()
	case proto.MeasureRequest_OPERATION_BROADCAST:
		err = w.group.Broadcast(number, w.bucket, w.root(number)).Wait()
	case proto.MeasureRequest_OPERATION_BARRIER:
		err = w.group.Barrier()
	default:
		err = fmt.Errorf("%s does not know %s", w.Name(), w.operation)
	}
	return comm.Now() - start, err
}

// root moves on with each round.
func (w *work) root(number int64) int { return int(number % int64(w.group.Size())) }

// verify compares every element with what the ranks' values make of it.
func (w *work) verify(number int64) {
	if w.bucket == nil || w.unchecked || w.mismatch != "" {
		return
	}
	w.check.keys = w.check.keys[:0]
	switch w.operation {
	case proto.MeasureRequest_OPERATION_PUSH_PULL:
		for _, rank := range w.settings.Ranks {
			w.check.keys = append(w.check.keys, benchKey(rank, number))
		}
	case proto.MeasureRequest_OPERATION_BROADCAST:
		w.check.keys = append(w.check.keys, benchKey(w.root(number), number))
	default:
		for rank := range w.group.Size() {
			w.check.keys = append(w.check.keys, benchKey(rank, number))
		}
	}
	if where, how := w.check.find(w.bucket); where != "" {
		w.mismatch = fmt.Sprintf("%s of round %d on %s %s", where, number, w.Name(), how)
	}
}
