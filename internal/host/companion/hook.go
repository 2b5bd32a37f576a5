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

// remoteHook stands for a hook in a companion. To the trainer the companion is
// a server: it takes a bucket and answers with the reduced one.
type remoteHook struct{ link comm.ServerLink }

// Reset has nothing to do: the core resets the companion too.
func (h *remoteHook) Reset() {}

// NewRemoteHook makes the stand-in of a companion's hook, which is the server of link.
func NewRemoteHook(link comm.ServerLink) sdk.Hook { return &remoteHook{link} }

func (h *remoteHook) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return h.link.PushPull(state.Batch(), b)
}

// HookRole hosts a hook in a companion: it joins the rank's links.
type HookRole struct {
	*process.Process
	env     sdk.HookEnv
	hook    sdk.Hook
	buckets []tensor.Bucket
	states  []arrivedState // by bucket
	started chan started
	batch   int64        // that arrives
	arrived int          // buckets of it
	working atomic.Int64 // buckets whose reduction is not answered
}

// NewHook makes the role of a hook beside its trainer. What Connect tells is added to env.
func NewHook(p *process.Process, env sdk.HookEnv) *HookRole {
	return &HookRole{Process: p, env: env}
}

// HookPeers are whom the process of a hook joins.
type HookPeers struct {
	Trainer process.Peer
	Buckets []tensor.BucketSpec
	Links   process.HookLinks
}

// started is a bucket whose reduction was started.
type started struct {
	arrival *comm.Arrival
	bucket  *tensor.Bucket
	future  *comm.Future
}

// arrivedState is the hook state as the companion knows it: keys are
// {batch},{bucket}.
type arrivedState struct{ batch int64 }

func (s *arrivedState) Batch() int64           { return s.batch }
func (s *arrivedState) Key(bucket int) sdk.Key { return sdk.Key{A: s.batch, B: int64(bucket)} }

// Connect makes the store into which the trainer pushes the store of the rank's
// links: on Shm the trainer's own segment goes on to the server and the group, and
// nothing is copied. It gives the part's facts.
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
	if r.env.Links, err = r.JoinLinks(peers.Links, port.Stores(0)[0]); err != nil {
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

// arrive starts the hook on the bucket that arrived, in place. Waiting for it is left to
// answerInOrder, so that the next bucket can arrive meanwhile. The last one of a batch is waited for
// here: nothing comes after it before it is answered, and to hand it to another goroutine takes longer
// than all else, since this one looks for the next bucket on the core that the other needs.
func (r *HookRole) arrive(a *comm.Arrival) error {
	s, err := r.start(a)
	if err != nil {
		return err
	}
	if a.Batch != r.batch {
		r.batch, r.arrived = a.Batch, 0
	}
	if r.arrived++; r.arrived < len(r.buckets) {
		r.started <- s // has room for every bucket
		return nil
	}
	r.arrived = 0
	if err = r.answer(s); err != nil {
		r.Fail(err) // whom the hook waited for; the port has only seen that its trainer is gone by then
	}
	return err
}

// start has the hook begin.
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

// answer waits for a reduction and answers with what it left.
func (r *HookRole) answer(s started) error {
	defer r.working.Add(-1)
	if err := s.future.Wait(); err != nil {
		return err
	}
	return s.arrival.Answer(&s.bucket.Gradient)
}

// Reset begins a pass for the hook and forgets what was recorded.
func (r *HookRole) Reset() error {
	r.hook.Reset()
	r.Recorder.Reset()
	r.Keeper.Reset()
	return nil
}

// Collect sends what was recorded and, unless a pass that failed left the hook at work, what it
// knows after the pass.
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
