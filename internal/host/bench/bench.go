// Package bench is the role of the processes that psbench comm measures with. It is no kind
// of part: every plugin process can take it.
package bench

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/protocol"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// Role measures the data plane: it carries out one operation many times, as
// a trainer would, and times each. Every round with fresh values is verified.
type Role struct {
	*process.Process
	config Config
	store  *comm.Store
	links  bench.Links
	hook   *hook          // nil unless it is measured
	part   *protocol.Hook // the hook, if it is in a companion
	sync   comm.GroupLink // lines the ranks up
	copied *tensor.Bucket // outside the store; made for the bucket in work
	twin   *twin          // of the server that is its part; nil until that is asked
	asked  asked
}

// Config is the configuration of a bench process.
type Config struct {
	Hook     *process.Choice // that it measures, if any
	Trainers int
	Seed     uint64
	// Protocol says that the hook is in a companion, called by the frames of docs/protocol.md; it has
	// declared these links.
	Protocol bool
	Links    []sdk.Link
}

// purposeSync is the purpose of the links that carry the barriers around a round.
const purposeSync = "sync"

// New makes the role of a configured process.
func New(p *process.Process, c Config) *Role {
	if c.Protocol {
		p.Fabric = p.Fabric.InSegments() // which the companion maps
	}
	return &Role{Process: p, config: c}
}

// Peers are whom a bench process joins.
type Peers struct {
	Buckets []tensor.BucketSpec
	Server  *process.Peer  // nil unless it measures with one
	Group   *process.Group // nil unless it measures collectives, or a hook that uses it
	Default *process.Group // nil unless it measures a hook that uses it
	// Together are the processes of this host that push to the server as one; nil if each pushes alone.
	Together *process.Group
	Sync     process.Group // all bench processes; where they share a host, at their Unix sockets
	Part     process.Peer  // the companion with the hook, if it is in one
	// Asked is a companion with the server, called by frames, which says what that must answer; nil
	// unless it is asked.
	Asked *process.Peer
}

// Connect makes the buckets and joins what the measurements need.
func (r *Role) Connect(peers Peers) error {
	var err error
	if r.store, err = r.NewStore(peers.Buckets); err != nil {
		return err
	}
	r.OwnMemory(r.store)
	if r.config.Protocol { // before the links, which end first
		if r.part, _, err = protocol.NewHook(r.Process, peers.Part, r.store); err != nil {
			return err
		}
	}
	if peers.Asked != nil {
		if err := r.joinTwin(*peers.Asked); err != nil {
			return err
		}
	}
	joined, err := r.JoinLinks(process.HookLinks{Server: peers.Server, Group: peers.Group, Default: peers.Default,
		Together: peers.Together}, r.store)
	if err != nil {
		return err
	}
	r.links.Server, r.links.Group = joined.Server, joined.Group
	if r.config.Hook != nil {
		if r.hook, err = r.newHook(joined); err != nil {
			return err
		}
		r.links.Hook = r.hook
	}
	by := fabric.Default()
	if !peers.Sync.OnOneHost() {
		by = r.Fabric
	}
	r.sync, err = r.JoinGroup(by, peers.Sync, comm.NewStore(nil), purposeSync)
	return err
}

// Reset has the hook, and the server's twin, forget what the rounds before left.
func (r *Role) Reset() error {
	if r.hook != nil {
		r.hook.Reset()
	}
	r.twin.reset()
	r.Recorder.Reset()
	return nil
}

// Collect has nothing to send: a measurement is the answer to Measure.
func (r *Role) Collect(record.Send) error { return nil }

// Request is what to measure.
type Request struct {
	Operation string // its name in psbench comm
	Bucket    int
	First     int64 // number of the first round: batches of a bucket rise
	Rounds    int
	Fresh     bool    // new values and a barrier before each round, untimed
	Copy      bool    // the gradient lives outside the store
	Expect    Expect  // of what the server answers, or the hook leaves
	Server    Expect  // of what the server answers a hook that is asked
	Partners  []int   // ranks that push to the same server as this one, in order
	Rounded   bool    // a mean may be rounded as the sum of what was divided
	Density   float64 // share of a table's rows that a rank pushes in a round
}

// Expect is what a server is expected to answer, or a hook to leave.
type Expect int

// The expectations.
const (
	Anything Expect = iota // the answer is not checked
	Mean
	Sum
	OfPart // what the part itself says, in this process
)

// Rounds is what was measured.
type Rounds struct {
	LatenciesNS []int64 // one per round
	Mismatch    string  // the first value that is not what it should be
	Unchecked   string  // why no value was compared, where the part did not say what it must be
}

// Measure carries out rounds of one operation. A fresh round is
//
//	write new values, line up, [operation], line up, verify
//
// Only the part in brackets is timed. So one rank's writing or verifying does not
// disturb another rank's operation. Warm rounds follow
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
	return &Rounds{LatenciesNS: latencies, Mismatch: w.mismatch, Unchecked: w.unknown}, nil
}

// work is one operation on one bucket.
type work struct {
	*Role
	operation *bench.Operation
	bucket    *tensor.Bucket // nil where none moves
	values    *bench.Values
	round     bench.Round
	check     func(number int64) (where, how string, err error) // checks the result; nil if it is unknown
	unknown   string                                            // why it is unknown
	mismatch  string                                            // the first one
}

func (r *Role) prepare(req Request) (*work, error) {
	if req.Rounds < 1 || req.First < 0 {
		return nil, fmt.Errorf("%s cannot measure %d rounds from round %d on: there must be one or more, from 0 on",
			r.Name(), req.Rounds, req.First)
	}
	w := &work{Role: r, operation: bench.Find(req.Operation)}
	switch {
	case w.operation == nil:
		return nil, fmt.Errorf("%s does not know the operation %q", r.Name(), req.Operation)
	case w.operation.Served && r.links.Server == nil:
		return nil, fmt.Errorf("%s cannot run %s: it has joined no server", r.Name(), w.operation.Name)
	case w.operation.Hooked && r.hook == nil:
		return nil, fmt.Errorf("%s cannot run %s: it has none", r.Name(), w.operation.Name)
	case !w.operation.Served && !w.operation.Hooked && r.links.Group == nil:
		return nil, fmt.Errorf("%s cannot run %s: it has joined no group", r.Name(), w.operation.Name)
	case w.operation.Empty:
		return w, nil
	}
	var err error
	if w.bucket, err = r.bucket(req.Bucket, req.Copy); err != nil {
		return nil, err
	}
	w.round = bench.Round{Bucket: &w.bucket.BucketSpec, Rank: r.Rank(), Trainers: r.sync.Size(), Partners: req.Partners}
	return w, w.expect(req)
}

// bucket returns the bucket to work on: the store's, or a second one if copied is set.
func (r *Role) bucket(k int, copied bool) (*tensor.Bucket, error) {
	if k < 0 || k >= len(r.store.Buckets) {
		return nil, fmt.Errorf("%s has no bucket %d: it has %d", r.Name(), k, len(r.store.Buckets))
	}
	b := r.store.Buckets[k]
	if b.Sparse && b.Capacity < b.TableRows {
		return nil, fmt.Errorf("%s has room for %d rows of bucket %d, whose table has %d: any of them may be drawn",
			r.Name(), b.Capacity, k, b.TableRows)
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
	return latency, w.verify(number)
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
