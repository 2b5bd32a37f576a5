// Package bench is the role of the processes with which psbench comm measures. Every plugin process
// can take this role, because the role needs no particular part.
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

// Role measures the data plane. Role runs one operation many times, as a trainer would, and times
// each run. Every round with fresh values is verified.
type Role struct {
	*process.Process
	config Config
	store  *comm.Store
	links  bench.Links
	hook   *hook          // nil unless the hook is measured
	part   *protocol.Hook // the hook, if it is in a companion
	sync   comm.GroupLink // barrier between the ranks
	copied *tensor.Bucket // a bucket outside the store, made for the current bucket
	twin   *twin          // copy of the server under test; nil until first used
	asked  asked
}

// Config is the configuration of a bench process.
type Config struct {
	Hook     *process.Choice // the hook to measure, if any
	Trainers int
	Seed     uint64
	// Protocol reports whether the hook is in a companion that is called by the frames of
	// docs/protocol.md. Links are the links that this hook has declared.
	Protocol bool
	Links    []sdk.Link
}

// purposeSync is the purpose of the links that carry the barriers around a round.
const purposeSync = "sync"

// New makes the role of a configured process.
func New(p *process.Process, c Config) *Role {
	if c.Protocol {
		p.Fabric = p.Fabric.InSegments() // the companion maps the segments
	}
	return &Role{Process: p, config: c}
}

// Peers are the processes that a bench process connects to.
type Peers struct {
	Buckets []tensor.BucketSpec
	Server  *process.Peer  // nil unless a server, or a hook that uses one, is measured
	Group   *process.Group // nil unless collectives, or a hook that uses the group, are measured
	Default *process.Group // nil unless a hook that uses the default group is measured
	// Together are the processes of this host that push to the server as one. Together is nil if each
	// process pushes alone.
	Together *process.Group
	Sync     process.Group // all bench processes, reached over Unix sockets on one host
	Part     process.Peer  // the companion with the hook, if there is one
	// Asked is a second companion with the server. psbench asks it by frames for the expected answers.
	// Asked is nil if psbench asks for no answers.
	Asked *process.Peer
	// Traffic is the plan of the measured hook; nil if it plans nothing.
	Traffic sdk.Traffic
}

// Plan returns the traffic plan of the measured hook for these buckets, or nil if the hook plans
// nothing.
func (r *Role) Plan(buckets []tensor.BucketSpec) (sdk.Traffic, error) {
	if r.config.Hook == nil {
		return nil, fmt.Errorf("%s measures no hook", r.Name())
	}
	return r.PlanTraffic(*r.config.Hook, sdk.TrafficEnv{Trainers: r.config.Trainers, Buckets: buckets})
}

// Connect makes the buckets and joins the links that the measurements need.
func (r *Role) Connect(peers Peers) error {
	var err error
	if r.store, err = r.NewStore(peers.Buckets); err != nil {
		return err
	}
	r.OwnMemory(r.store)
	if r.config.Protocol { // made before the links, which must close first
		if r.part, _, err = protocol.NewHook(r.Process, peers.Part, r.store); err != nil {
			return err
		}
	}
	if peers.Asked != nil {
		if err := r.joinTwin(*peers.Asked); err != nil {
			return err
		}
	}
	links := process.HookLinks{Server: peers.Server, Group: peers.Group, Default: peers.Default,
		Together: peers.Together, Traffic: peers.Traffic}
	joined, rounds, err := r.join(links)
	if err != nil {
		return err
	}
	r.links.Server, r.links.Group = joined.Server, joined.Group
	if r.config.Hook != nil {
		if r.hook, err = r.newHook(joined, rounds); err != nil {
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

// join connects the links and lays the traffic plan of the measured hook. A hook in a companion runs its rounds itself.
func (r *Role) join(links process.HookLinks) (joined sdk.Links, rounds sdk.Rounds, err error) {
	if r.part == nil {
		return r.JoinHook(links, r.store)
	}
	if joined, err = r.JoinLinks(links, r.store); err == nil {
		err = r.part.Lay(r.Process, links)
	}
	return joined, nil, err
}

// Reset clears the state that earlier rounds left in the hook and in the server's twin.
func (r *Role) Reset() error {
	if r.hook != nil {
		r.hook.Reset()
	}
	r.twin.reset()
	r.Recorder.Reset()
	return nil
}

// Collect sends nothing, because Measure returns the results.
func (r *Role) Collect(record.Send) error { return nil }

// Request describes one measurement.
type Request struct {
	Operation string // operation name in psbench comm
	Bucket    int
	First     int64 // number of the first round; batch numbers of a bucket increase
	Rounds    int
	Fresh     bool    // new values and a barrier before each round, untimed
	Copy      bool    // use a gradient outside the store
	Expect    Expect  // the expected answer of the server or result of the hook
	Server    Expect  // the expected answer of the server to a hook's push
	Partners  []int   // ranks that push to the same server, in order
	Rounded   bool    // allow the rounding of a mean that divides before summing
	Density   float64 // share of a table's rows that a rank pushes per round
}

// Expect is the answer expected from a server, or the result expected from a hook.
type Expect int

// The expected results.
const (
	Anything Expect = iota // the answer is not checked
	Mean
	Sum
	OfPart // the result that the part itself computes, in this process
)

// Rounds holds the measured rounds.
type Rounds struct {
	LatenciesNS []int64 // one per round
	Mismatch    string  // describes the first wrong value
	Unchecked   string  // why no value was compared, if the part could not say the expected result
}

// Measure runs rounds of one operation. A fresh round is
//
//	write new values, barrier, [operation], barrier, verify
//
// Only the operation in brackets is timed, so that one rank's writing or verifying does not disturb
// another rank's operation. Warm rounds follow one fresh round, which is counted but not timed.
// Warm rounds repeat the operation on zeros without barriers.
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
	bucket    *tensor.Bucket // nil if the operation moves no bucket
	values    *bench.Values
	round     bench.Round
	check     func(number int64) (where, how string, err error) // nil if the expected result is unknown
	unknown   string                                            // why the expected result is unknown
	mismatch  string                                            // the first mismatch
}

func (r *Role) prepare(req Request) (*work, error) {
	if req.Rounds < 1 || req.First < 0 {
		return nil, fmt.Errorf("%s cannot measure %d rounds from round %d on: it takes one or more rounds, from round 0 on",
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

// bucket returns bucket k: the store's own, or a second copy outside the store if copied is set.
func (r *Role) bucket(k int, copied bool) (*tensor.Bucket, error) {
	if k < 0 || k >= len(r.store.Buckets) {
		return nil, fmt.Errorf("%s has no bucket %d: it has %d", r.Name(), k, len(r.store.Buckets))
	}
	b := r.store.Buckets[k]
	if b.Sparse && b.Capacity < b.TableRows {
		return nil, fmt.Errorf("%s has room for %d rows of bucket %d, but the table has %d rows and any of these may be drawn",
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

// freshRound runs a round with new values and returns the latency in ns.
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

// warmUp runs and verifies one round, then sets the gradient to zero.
func (w *work) warmUp(number int64) error {
	if _, err := w.freshRound(number); err != nil {
		return err
	}
	if w.bucket != nil {
		clear(w.bucket.Gradient.Values)
	}
	return w.sync.Barrier()
}

// timed runs the operation and returns the duration in ns.
func (w *work) timed(number int64) (int64, error) {
	start := comm.Now()
	err := w.operation.Run(w.links, number, w.bucket)
	return comm.Now() - start, err
}
