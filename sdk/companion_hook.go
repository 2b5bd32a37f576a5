package sdk

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/proto"
)

// remoteHook stands for a hook in a companion. To the trainer the companion is
// a server: it takes a bucket and answers with the reduced one.
type remoteHook struct{ link comm.ServerLink }

// newRemoteHook makes the stand-in of a companion's hook, which is the server of link.
func newRemoteHook(link comm.ServerLink) Hook { return &remoteHook{link} }

func (h *remoteHook) Reduce(state HookState, b *tensor.Bucket) *comm.Future {
	return h.link.PushPull(state.Batch(), b)
}

// hookRole hosts a hook in a companion: it joins the rank's links.
type hookRole struct {
	*station
	hook    Hook
	buckets []tensor.Bucket
	states  []arrivedState // by bucket
	started chan started
}

func newHookRole(st *station) *hookRole { return &hookRole{station: st} }

// started is a bucket whose reduction was started.
type started struct {
	arrival *comm.Arrival
	bucket  *tensor.Bucket
	future  *comm.Future
}

// arrivedState is the hook state as the companion knows it: keys are
// {batch},{bucket}.
type arrivedState struct{ batch int64 }

func (s *arrivedState) Batch() int64       { return s.batch }
func (s *arrivedState) Key(bucket int) Key { return Key{s.batch, int64(bucket)} }

// connect makes the store into which the trainer pushes the store of the rank's
// links: on Shm the trainer's own segment goes on to the server and the group, and
// nothing is copied.
func (r *hookRole) connect(req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	conn, err := acceptTrainer(r.station, req)
	if err != nil {
		return nil, err
	}
	specs := BucketsFromProto(req.GetBuckets())
	port, err := comm.NewPort(r.companionTransport(), r.name(), []*comm.Conn{conn.Conn}, specs, false, r.timeout)
	if err != nil {
		return nil, err
	}
	r.own(port)
	env, err := r.joinLinks(req, port.Store(0))
	if err != nil {
		return nil, err
	}
	if r.hook, err = buildHook(r.station, r.req.GetPart(), env); err != nil {
		return nil, err
	}
	r.buckets = make([]tensor.Bucket, len(specs))
	r.states = make([]arrivedState, len(specs))
	for i, spec := range specs {
		r.buckets[i].BucketSpec = spec
	}
	r.started = make(chan started, len(specs))
	r.owned.Go(r.answerInOrder)
	r.owned.Go(func() {
		if err := port.Serve(r.arrive); err != nil {
			r.fail(err)
		}
	})
	return &proto.ConnectReply{Facts: facts(nil, r.hook)}, nil
}

// arrive starts the hook on the bucket that arrived, in place. Waiting for it
// is left to answerInOrder, so that the next bucket can arrive meanwhile.
func (r *hookRole) arrive(a *comm.Arrival) error {
	b, state := &r.buckets[a.Bucket], &r.states[a.Bucket]
	b.Gradient, state.batch = *a.Gradient, a.Batch
	r.started <- started{a, b, r.hook.Reduce(state, b)} // has room for every bucket
	return nil
}

func (r *hookRole) answerInOrder() {
	for {
		var s started
		select {
		case s = <-r.started:
		case <-r.done:
			return
		}
		err := s.future.Wait()
		if err == nil {
			err = s.arrival.Answer(&s.bucket.Gradient)
		}
		if err != nil {
			r.fail(err)
			return
		}
	}
}

func (r *hookRole) reset() error {
	r.recorder.Reset()
	return nil
}

func (r *hookRole) collect(send func(*proto.CollectReply) error) error { return r.collectSeries(send) }
