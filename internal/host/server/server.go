// Package server runs a parameter server. The server takes the pushes of trainers, answers them and
// measures them. For an elementwise server, the package reduces the pushes with the server's
// methods. Any other server gets the pushes themselves.
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

// Role hosts a server. For an elementwise server, Role reduces the pushes itself with the server's
// methods. Any other server gets the pushes from Role. Role also records the metrics that all
// servers share.
type Role struct {
	*process.Process
	config    Config
	server    sdk.Server       // nil if the server is elementwise
	part      *protocol.Server // the server in a companion; nil if it is in this process
	tripNS    int64            // median round trip of a no-op call to part
	reduction *reduction       // nil if the server is not elementwise
	described []any            // parts whose facts are reported
	trainers  []process.Peer   // processes that push; some may also push for others
	pushedFor int              // number of trainers that they push for in total
	buckets   []bucket
	// answering is read-locked while an answer is sent and recorded. A trainer may end its pass before
	// the server has recorded the pass's last answer.
	answering sync.RWMutex
	broken    atomic.Pointer[error] // error of the first answer that failed
}

// Config is the configuration of a server.
type Config struct {
	Seed      uint64
	Summarize bool
	// Asynchronous says that the server may answer before all trainers have pushed.
	Asynchronous bool
	// Protocol says that the server is in a companion that is called by the frames of
	// docs/protocol.md.
	Protocol bool
	Model    *process.Choice // the model, for a server of parameters
	ModelEnv sdk.ModelEnv    // environment of Model
}

// Peers are the processes that push to a server.
type Peers struct {
	Buckets  []tensor.BucketSpec
	Trainers []process.Peer
	// PushedFor is the number of trainers that these processes push for; 0 means one trainer per
	// process.
	PushedFor int
	Part      process.Peer // the companion with the server, if any
}

// New makes the role of a server. Connect builds the server itself.
func New(proc *process.Process, c Config) *Role {
	if c.Protocol {
		proc.Fabric = proc.Fabric.InSegments() // the companion maps the segments
	}
	return &Role{Process: proc, config: c}
}

// Connect builds the server, waits for its trainers and returns the facts of its parts.
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

// staged describes how the trainers' buckets are transferred.
func (r *Role) staged(port comm.Port) string {
	shared, ok := port.(comm.DeviceLink)
	if !ok {
		return "staged: transport " + r.Fabric.Name + " maps no memory of one host"
	}
	var names, reasons []string // trainers whose buckets are staged, and why
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

// newBuckets makes the buckets. A server that does not wait for all trainers has no straggler
// metric.
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

// serve takes pushes until the port closes.
func (r *Role) serve(port comm.Port) {
	r.Owned.Go(func() {
		if err := port.Serve(r.handle); err != nil {
			r.Fail(err)
		}
	})
	r.Owned.Go(r.watch)
}

// awaitAnswers waits until every answer of the pass is recorded.
func (r *Role) awaitAnswers() {
	r.answering.Lock()
	defer r.answering.Unlock()
}

// watch reports the trainers whose gradient is overdue. Other trainers only see that they wait for
// the server. Only the server knows the trainer that causes the wait.
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

// overdue returns an error if, at nowNS, a bucket has waited longer than the timeout. The error
// names the missing trainers. If the server is still in Receive, the error names the server,
// because it cannot see other pushes meanwhile.
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

// Reset clears all state and all recorded values.
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

// Expect tells the server how many batches each trainer has in the pass. nil means that the numbers
// are not known so far.
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

// expect stores the trainers' numbers of batches. A trainer without batches left is not overdue.
func (r *Role) expect(batches []int) error {
	if len(batches) != len(r.trainers) {
		return fmt.Errorf("%s got the batch counts of %d trainers but has %d trainers", r.Name(), len(batches),
			len(r.trainers))
	}
	last := make([]int64, len(batches))
	for t, n := range batches {
		if last[t] = int64(n) - 1; r.config.Model != nil {
			last[t]++ // batch 0 only fetches the parameters
		}
	}
	for b := range r.buckets {
		r.buckets[b].expect(last)
	}
	return nil
}

// Collect sends the recorded values. If every push is answered, Collect also sends summaries of the
// parameters that the server holds. Collect returns the error of an answer that failed.
func (r *Role) Collect(send record.Send) error {
	err := r.collect(send)
	if broken := r.broken.Load(); err == nil && broken != nil {
		err = *broken
	}
	return err
}

func (r *Role) collect(send record.Send) error {
	// Like awaitAnswers, but with a limit: a failure may leave a stuck answer.
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

// idle reports whether every push is answered. A failed pass leaves unanswered pushes.
func (r *Role) idle() bool {
	for b := range r.buckets {
		if r.buckets[b].unanswered() {
			return false
		}
	}
	return true
}
