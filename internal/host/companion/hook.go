package companion

import (
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// remoteHook represents, in the trainer's process, a hook that runs in a companion. To the trainer,
// the companion is a server: it takes a bucket and answers with the reduced bucket.
type remoteHook struct{ link comm.ServerLink }

// Reset does nothing, because the core resets the companion too.
func (h *remoteHook) Reset() {}

// NewRemoteHook returns the trainer's stand-in for a hook in a companion. The companion is the
// server of link.
func NewRemoteHook(link comm.ServerLink) sdk.Hook { return &remoteHook{link} }

func (h *remoteHook) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return h.link.PushPull(state.Batch(), b)
}

// HookRole runs a hook in a companion and connects the rank's links.
type HookRole struct {
	*process.Process
	env     sdk.HookEnv
	hook    sdk.Hook
	buckets []tensor.Bucket
	states  []arrivedState // by bucket
	started chan started
	batch   int64        // batch whose buckets are arriving
	arrived int          // buckets of that batch that have arrived
	working atomic.Int64 // buckets with unanswered reductions
}

// NewHook returns the role of a process that runs a hook for a trainer. Connect completes env.
func NewHook(p *process.Process, env sdk.HookEnv) *HookRole {
	return &HookRole{Process: p, env: env}
}

// Plan returns the hook's traffic plan for these buckets, or nil if the hook plans nothing.
func (r *HookRole) Plan(buckets []tensor.BucketSpec) (sdk.Traffic, error) {
	return r.PlanTraffic(r.Part(), sdk.TrafficEnv{Trainers: r.env.Trainers, Buckets: buckets})
}

// HookPeers are the processes that a hook's process connects to.
type HookPeers struct {
	Trainer process.Peer
	Buckets []tensor.BucketSpec
	Links   process.HookLinks
}

// started is a bucket whose reduction has started.
type started struct {
	arrival *comm.Arrival
	bucket  *tensor.Bucket
	future  *comm.Future
}

// arrivedState is the hook state that the companion can provide, with keys {batch},{bucket}.
type arrivedState struct{ batch int64 }

func (s *arrivedState) Batch() int64           { return s.batch }
func (s *arrivedState) Key(bucket int) sdk.Key { return sdk.Key{A: s.batch, B: int64(bucket)} }

// Connect creates one store that the trainer pushes into and that the rank's links use. With shared
// memory, the trainer's own segment also serves the server and the group, so nothing is copied.
// Connect returns the part's facts.
func (r *HookRole) Connect(peers HookPeers) (map[string]string, error) {
	conn, err := acceptTrainer(r.Process, peers.Trainer)
	if err != nil {
		return nil, err
	}
	if err := conn.Conn.Lift(); err != nil {
		return nil, err
	}
	specs := peers.Buckets
	port, err := r.Fabric.Companions().NewPort(r.Joined([]*wire.Conn{conn.Conn}), specs, false)
	if err != nil {
		return nil, err
	}
	r.Own(port)
	r.env.Buckets = specs
	if r.env.Links, r.env.Rounds, err = r.JoinHook(peers.Links, port.Stores(0)[0]); err != nil {
		return nil, err
	}
	if r.hook, err = hosted.NewHookBeside(r.Process, r.Part(), r.env); err != nil {
		return nil, err
	}
	r.buckets = make([]tensor.Bucket, len(specs))
	r.states = make([]arrivedState, len(specs))
	for i, spec := range specs {
		r.buckets[i].BucketSpec = spec
	}
	r.started = make(chan started, len(specs))
	r.Owned.Go(r.answerInOrder)
	r.Owned.Go(func() {
		if err := port.Serve(r.arrive); err != nil {
			r.Fail(err)
		}
	})
	return process.Facts(nil, r.hook), nil
}

// arrive starts the hook on the bucket that arrived, in place. answerInOrder waits for the
// reduction, so that the next bucket can arrive meanwhile.
//
// arrive itself waits for the last bucket of a batch, because no other bucket arrives before its
// answer. Handing the last bucket to another goroutine would be the slowest step. This goroutine
// polls for the next bucket, on the core that the other goroutine needs.
func (r *HookRole) arrive(a *comm.Arrival) error {
	s, err := r.start(a)
	if err != nil {
		return err
	}
	if a.Batch != r.batch {
		r.batch, r.arrived = a.Batch, 0
	}
	if r.arrived++; r.arrived < len(r.buckets) {
		r.started <- s // never blocks: started has room for every bucket
		return nil
	}
	r.arrived = 0
	if err = r.answer(s); err != nil {
		r.Fail(err) // name the peer that the hook waited for: the port has only seen that its trainer is gone
	}
	return err
}

// start calls the hook for the bucket that arrived.
func (r *HookRole) start(a *comm.Arrival) (started, error) {
	if !r.Working.TryRLock() {
		return started{}, r.Over()
	}
	defer r.Working.RUnlock()
	b, state := &r.buckets[a.Bucket], &r.states[a.Bucket]
	b.Gradient, state.batch = *a.Gradient, a.Batch
	r.working.Add(1)
	return started{a, b, hosted.ReduceSince(r.hook, state, b, a.AtNS)}, nil
}

func (r *HookRole) answerInOrder() {
	for {
		var s started
		select {
		case s = <-r.started:
		case <-r.Done:
			return
		}
		if err := r.answer(s); err != nil {
			r.Fail(err)
			return
		}
	}
}

// answer waits for a reduction and sends the reduced bucket.
func (r *HookRole) answer(s started) error {
	defer r.working.Add(-1)
	if err := s.future.Wait(); err != nil {
		return err
	}
	return s.arrival.Answer(&s.bucket.Gradient)
}

// Reset starts a new pass for the hook and clears the recorded values.
func (r *HookRole) Reset() error {
	r.hook.Reset()
	r.Recorder.Reset()
	r.Keeper.Reset()
	return nil
}

// Collect sends the recorded values. Collect also sends the hook's facts after the pass, unless a
// failed pass left the hook working.
func (r *HookRole) Collect(send record.Send) error {
	idle := func() bool { return r.working.Load() == 0 }
	if err := r.CollectRecorded(send); err != nil || !process.Within(process.CollectGrace, idle) {
		return err
	}
	if err := r.Keeper.Collect(send); err != nil {
		return err
	}
	return process.CollectPassFacts(send, r.hook)
}
