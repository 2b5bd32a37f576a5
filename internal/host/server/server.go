// Package server hosts a parameter server: it takes the pushes of trainers, reduces them with
// an elementwise server's methods or hands them to a server of any other sort, answers, and
// measures.
package server

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/inspect"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/protocol"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// Role hosts a server. It reduces the pushes to an elementwise server itself, with the server's
// methods, and hands pushes to any other server. It records the metrics that all servers share.
type Role struct {
	*process.Process
	config    Config
	server    sdk.Server       // nil if it is elementwise
	part      *protocol.Server // the server, if that is in a companion; nil otherwise
	tripNS    int64            // the median of a no-op call to it
	reduction *reduction       // nil if it is not
	described []any            // the parts, for their facts
	trainers  []process.Peer   // that push, some maybe for others as well
	pushedFor int              // how many trainers those are in all
	buckets   []bucket
	// answering is held for reading while an answer is sent and noted: a trainer
	// may end its pass before the server has noted the pass's last answer.
	answering sync.RWMutex
	broken    atomic.Pointer[error] // the first answer that could not be given
}

// Config is the configuration of a server.
type Config struct {
	Seed      uint64
	Summarize bool
	// Asynchronous says that it may answer before all of its trainers have come.
	Asynchronous bool
	// Protocol says that the server is in a companion, called by the frames of docs/protocol.md.
	Protocol bool
	Model    *process.Choice // of a server of parameters
	ModelEnv sdk.ModelEnv    // of Model
}

// Peers are the processes that push to a server.
type Peers struct {
	Buckets  []tensor.BucketSpec
	Trainers []process.Peer
	// PushedFor is for how many trainers these push; 0: for as many as they are.
	PushedFor int
	Part      process.Peer // the companion with the server, if there is one
}

// New makes the role of a server, which Connect builds.
func New(proc *process.Process, c Config) *Role {
	if c.Protocol {
		proc.Fabric = proc.Fabric.InSegments() // which the companion maps
	}
	return &Role{Process: proc, config: c}
}

// Connect builds the server and waits for its trainers. It gives the facts of its parts.
func (r *Role) Connect(peers Peers) (map[string]string, error) {
	r.trainers, r.pushedFor = peers.Trainers, cmp.Or(peers.PushedFor, len(peers.Trainers))
	specs := peers.Buckets
	env := sdk.ServerEnv{
		Rank: r.Rank(), Name: r.Name(), Trainers: r.pushedFor, Buckets: specs, Recorder: r.Recorder,
		Seed: r.config.Seed, Engine: r.Engine,
	}
	var err error
	if choice := r.config.Model; choice != nil {
		modelEnv := r.config.ModelEnv
		modelEnv.Recorder, modelEnv.Engine = r.Recorder, r.Engine
		if env.Model, err = process.Build[sdk.Model](r.Process, *choice, modelEnv); err != nil {
			return nil, err
		}
	}
	server, err := r.build(env, peers.Part)
	if err != nil {
		return nil, err
	}
	r.newBuckets(specs)
	conns := make([]*wire.Conn, len(r.trainers))
	for i, t := range r.trainers {
		if conns[i], err = r.Accept(t, process.PurposePush); err != nil {
			return nil, err
		}
	}
	over := r.Fabric
	if d, ok := server.(sdk.DeviceServer); ok {
		over = over.On(d.Device())
	}
	port, err := over.NewPort(r.Joined(conns), specs, r.reduction != nil)
	if err != nil {
		return nil, err
	}
	r.Own(port)
	r.Shares("the buckets that its trainers share", port)
	if err := r.showPart(port); err != nil {
		return nil, err
	}
	r.serve(port)
	r.described = []any{server, env.Model}
	facts := process.Facts(process.Facts(process.Facts(map[string]string{}, r.Engine), server), env.Model)
	if !r.Engine.Addressable() {
		facts[record.FactBuckets] = r.staged(port)
	}
	return facts, nil
}

// staged says how the buckets of trainers travel.
func (r *Role) staged(port comm.Port) string {
	shared, ok := port.(comm.DeviceLink)
	if !ok {
		return "staged: transport " + r.Fabric.Name + " maps no memory of one host"
	}
	var names, reasons []string // of the trainers whose buckets are staged
	for t, trainer := range r.trainers {
		if why := shared.Staged(t); why != "" {
			names, reasons = append(names, trainer.Name), append(reasons, why)
		}
	}
	if len(names) == 0 {
		return record.BucketsShared
	}
	return "staged for " + comm.JoinNames(names) + ": " + reasons[0]
}

// newBuckets makes the buckets. A server that does not wait for all trainers has no stragglers.
func (r *Role) newBuckets(specs []tensor.BucketSpec) {
	var straggler *sdk.Series
	if !r.config.Asynchronous {
		straggler = r.Recorder.Series("parameter_server_straggler_metric", "param_index_straggler")
	}
	whole := r.Recorder.Series("parameter_server_batch_metric", "param_index_batch")
	r.buckets = make([]bucket, len(specs))
	for i := range r.buckets {
		b := &r.buckets[i]
		b.index, b.trainers, b.straggler, b.whole = i, len(r.trainers), straggler, whole
		b.asynchronous, b.fetches = r.config.Asynchronous, r.config.Model != nil
		if r.reduction != nil {
			b.chunks = r.reduction.newChunks(specs[i], len(r.trainers))
		} else {
			b.slots = r.newSlots(b)
		}
	}
}

// serve takes pushes until the port ends.
func (r *Role) serve(port comm.Port) {
	r.Owned.Go(func() {
		if err := port.Serve(r.handle); err != nil {
			r.Fail(err)
		}
	})
	r.Owned.Go(r.watch)
}

// awaitAnswers waits until every answer of the pass is noted.
func (r *Role) awaitAnswers() {
	r.answering.Lock()
	defer r.answering.Unlock()
}

// watch reports the trainers whose gradient is overdue. A trainer waits for the
// server; only the server knows which other trainer it really waits for.
func (r *Role) watch() {
	tick := time.NewTicker(max(r.Timeout/20, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.Done:
			return
		}
		for b := range r.buckets {
			if err := r.overdue(&r.buckets[b], comm.Now()); err != nil {
				r.Events.Fail(err)
				return
			}
		}
	}
}

// overdue says whom a bucket waits for at nowNS for longer than the timeout: the server itself, while
// that is in Receive, which keeps the pushes of others from being seen.
func (r *Role) overdue(b *bucket, nowNS int64) error {
	for i := range b.takenNS {
		if taken := b.takenNS[i].Load(); taken > 0 && nowNS-taken > int64(r.Timeout) {
			return &comm.WaitError{
				Waiter: "the core", For: []string{r.Name()}, Seconds: r.Timeout.Seconds(),
				What: fmt.Sprintf("the end of Receive of a push of bucket %d by %s", b.index, r.trainers[i].Name),
			}
		}
	}
	missing, batch := b.overdue(nowNS, int64(r.Timeout))
	if len(missing) == 0 {
		return nil
	}
	return &comm.WaitError{
		Waiter: r.Name(), For: r.names(missing), Seconds: r.Timeout.Seconds(),
		What: "the gradient of " + describeBucket(batch, b.index),
	}
}

// names returns the names of trainers.
func (r *Role) names(trainers []int) []string {
	names := make([]string, len(trainers))
	for i, t := range trainers {
		names[i] = r.trainers[t].Name
	}
	return names
}

// Reset forgets all state, and what was recorded.
func (r *Role) Reset() error {
	r.awaitAnswers()
	for b := range r.buckets {
		r.buckets[b].reset()
	}
	if r.server != nil {
		r.server.Reset()
	}
	r.Recorder.Reset()
	return nil
}

// Expect tells the server how many batches each trainer has in the pass; nil: not yet known.
func (r *Role) Expect(batches []int) error {
	if batches != nil {
		if err := r.expect(batches); err != nil {
			return err
		}
	}
	if server, ok := r.server.(sdk.Expecter); ok {
		return fault.Of(r.Title(), "Expect", server.Expect(batches))
	}
	return nil
}

// expect notes how many batches there are, for the watch: a trainer that has none left is not
// overdue.
func (r *Role) expect(batches []int) error {
	if len(batches) != len(r.trainers) {
		return fmt.Errorf("%s got the batch counts of %d trainers but has %d trainers", r.Name(), len(batches),
			len(r.trainers))
	}
	last := make([]int64, len(batches))
	for t, n := range batches {
		if last[t] = int64(n) - 1; r.config.Model != nil {
			last[t]++ // batch 0 fetches the parameters
		}
	}
	for b := range r.buckets {
		r.buckets[b].expect(last)
	}
	return nil
}

// Collect sends what was recorded and, if every push is answered, what was made of the
// parameters that the server holds. An answer that could not be given is its error.
func (r *Role) Collect(send record.Send) error {
	err := r.collect(send)
	if broken := r.broken.Load(); err == nil && broken != nil {
		err = *broken
	}
	return err
}

func (r *Role) collect(send record.Send) error {
	// as awaitAnswers, but a failure may leave a stuck answer
	answered := process.Within(process.CollectGrace, r.answering.TryLock)
	if answered {
		r.answering.Unlock()
	}
	idle := answered && r.idle()
	var facts record.Facts
	if idle {
		facts = process.PassFactsOf(r.described...)
	}
	if err := r.CollectRecorded(send); err != nil || !idle {
		return err
	}
	if err := process.SendPassFacts(facts, send); err != nil || r.server == nil {
		return err
	}
	return inspect.CollectHeld(r.Engine, r.server, r.config.Summarize, send)
}

// idle says that every push is answered. A pass that failed leaves some unanswered.
func (r *Role) idle() bool {
	for b := range r.buckets {
		if r.buckets[b].unanswered() {
			return false
		}
	}
	return true
}
