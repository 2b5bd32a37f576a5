// Package bench is the role of the processes that psbench comm measures with. It is no kind
// of part: every plugin process can take it.
package bench

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/bench"
	"github.com/psbench/psbench/comm/fabric"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/host/record"
)

// Role measures the data plane: it carries out one operation many times, as
// a trainer would, and times each. Every round with fresh values is verified.
type Role struct {
	*process.Process
	store  *comm.Store
	links  bench.Links
	sync   comm.GroupLink // lines the ranks up
	copied *tensor.Bucket // outside the store; made for the bucket in work
	answer bench.Answer   // of the process's own part; nil until it is asked
}

// purposeSync is that of the links over which barriers around a round go, whatever is
// measured.
const purposeSync = "sync"

// New makes the role of a configured process.
func New(p *process.Process) *Role { return &Role{Process: p} }

// Peers are whom a bench process joins.
type Peers struct {
	Buckets []tensor.BucketSpec
	Server  *process.Peer  // nil unless it measures with one
	Group   *process.Group // nil unless it measures collectives
	Sync    process.Group  // all bench processes, at their Unix sockets
}

// Connect makes the buckets and joins what the measurements need.
func (r *Role) Connect(peers Peers) error {
	var err error
	if r.store, err = r.NewStore(peers.Buckets); err != nil {
		return err
	}
	r.OwnMemory(r.store)
	if peers.Server != nil {
		if r.links.Server, err = r.JoinServer(*peers.Server, r.store); err != nil {
			return err
		}
	}
	if peers.Group != nil {
		if r.links.Group, err = r.JoinGroup(r.Fabric, *peers.Group, r.store, process.PurposeGroup); err != nil {
			return err
		}
	}
	r.sync, err = r.JoinGroup(fabric.Default(), peers.Sync, comm.NewStore(nil), purposeSync)
	return err
}

// Reset has nothing to reset: a measurement begins anew by itself.
func (r *Role) Reset() error { return nil }

// Collect has nothing to send: a measurement is the answer to Measure.
func (r *Role) Collect(record.Send) error { return nil }

// Request is what to measure.
type Request struct {
	Operation string // its name in psbench comm
	Bucket    int
	First     int64 // number of the first round: batches of a bucket rise
	Rounds    int
	Fresh     bool // new values and a barrier before each round, untimed
	Copy      bool // the gradient lives outside the store
	Expect    Expect
	Partners  []int   // ranks that push to the same server as this one, in order
	Density   float64 // share of a table's rows that a rank pushes in a round
}

// Expect is what a server is expected to answer.
type Expect int

// The expectations.
const (
	Anything Expect = iota // the answer is not checked
	Mean
	Sum
	OfPart // what the elementwise server makes of the gradients, built and run in this process
)

// Rounds is what was measured.
type Rounds struct {
	LatenciesNS []int64 // one per round
	Mismatch    string  // the first value that is not what it should be
}

// Measure carries out rounds of one operation. A fresh round is
//
//	write new values, line up, [operation], line up, verify
//
// of which only the part in brackets is timed: neither the writing nor the
// verifying of one rank disturbs the operation of another. Warm rounds follow
// one fresh round, which counts as a round but is not timed: zeros go round and
// round, back to back.
func (r *Role) Measure(req Request) (*Rounds, error) {
	w, err := r.prepare(req)
	if err != nil {
		return nil, err
	}
	latencies := make([]int64, req.Rounds)
	number := req.First
	if !req.Fresh {
		if err := w.warmUp(number); err != nil {
			return nil, err
		}
		number++
	}
	for i := range latencies {
		if req.Fresh {
			latencies[i], err = w.freshRound(number)
		} else {
			latencies[i], err = w.timed(number)
		}
		if err != nil {
			return nil, err
		}
		number++
	}
	return &Rounds{LatenciesNS: latencies, Mismatch: w.mismatch}, nil
}

// work is one operation on one bucket.
type work struct {
	*Role
	operation *bench.Operation
	bucket    *tensor.Bucket // nil where none moves
	values    *bench.Values
	round     bench.Round
	unchecked bool
	answer    bench.Answer // nil where the values say what must come out
	mismatch  string       // the first one
}

func (r *Role) prepare(req Request) (*work, error) {
	if req.Rounds < 1 || req.First < 0 {
		return nil, fmt.Errorf("%s cannot measure %d rounds from round %d on: there must be one or more, from 0 on", r.Name(), req.Rounds, req.First)
	}
	w := &work{Role: r, operation: bench.Find(req.Operation)}
	switch {
	case w.operation == nil:
		return nil, fmt.Errorf("%s does not know the operation %q", r.Name(), req.Operation)
	case w.operation.Served && r.links.Server == nil:
		return nil, fmt.Errorf("%s cannot run %s: it has joined no server", r.Name(), w.operation.Name)
	case !w.operation.Served && r.links.Group == nil:
		return nil, fmt.Errorf("%s cannot run %s: it has joined no group", r.Name(), w.operation.Name)
	case w.operation.Empty:
		return w, nil
	}
	w.unchecked = w.operation.Served && req.Expect == Anything
	w.values = bench.NewValues(req.Density, w.operation.Served && req.Expect == Mean)
	if w.operation.Served && req.Expect == OfPart {
		var err error
		if w.answer, err = r.answerOfPart(len(req.Partners)); err != nil {
			return nil, err
		}
	}
	w.round = bench.Round{Rank: r.Rank(), Trainers: r.sync.Size(), Partners: req.Partners}
	var err error
	w.bucket, err = r.bucket(req.Bucket, req.Copy)
	return w, err
}

// answerOfPart builds the server that the process was given as its part, beside the one that is
// measured, to say what that must answer.
func (r *Role) answerOfPart(trainers int) (bench.Answer, error) {
	if r.answer != nil {
		return r.answer, nil
	}
	part, err := r.Find(r.Part())
	switch {
	case err != nil:
		return nil, err
	case part.Timing == 0:
		return nil, fmt.Errorf("%s cannot say what server %s answers, whose work is not elementwise", r.Name(), part.Key)
	}
	server, err := process.Build[sdk.ElementwiseServer](r.Process, r.Part(), sdk.ServerEnv{
		Rank: r.Rank(), Name: r.Name(), Trainers: trainers, Buckets: r.store.Specs(), Recorder: r.Recorder, Engine: r.Engine,
	})
	if err != nil {
		return nil, err
	}
	r.answer = func(sum []float32, others [][]float32) {
		if part.Timing == sdk.OnLastArrival {
			server.Combine(sum, others)
		} else {
			for i := range others {
				server.Combine(sum, others[i:i+1])
			}
		}
		server.Finish(sum)
	}
	return r.answer, nil
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
	where, how := "", ""
	if w.answer != nil {
		where, how = w.values.MismatchWith(w.answer, w.bucket, number, w.round.Partners)
	} else {
		where, how = w.values.Mismatch(w.bucket, number, w.operation.Expect(w.round))
	}
	if where != "" {
		w.mismatch = fmt.Sprintf("%s of round %d on %s %s", where, number, w.Name(), how)
	}
}
