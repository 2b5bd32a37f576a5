package sdk

import (
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// serverRole hosts a server: it hands it the pushes as its Wake asks, and
// measures what every server has in common.
type serverRole struct {
	*station
	server   Server
	wake     Wake
	trainers []*proto.Peer
	// straggler: from the first gradient of a (batch, bucket) until the last
	// trainer's; whole: until all were answered.
	straggler, whole *Series
	locations        []location
	// answering is held for reading while an answer is sent and noted: a trainer
	// may end its pass before the server has noted the pass's last answer.
	answering sync.RWMutex
}

// location is the state of one bucket.
type location struct {
	mu sync.Mutex
	// rounds holds the batches that are not fully answered. A synchronous
	// server has two for a moment: a trainer that has its answer pushes the
	// next batch while the others still get theirs.
	rounds []*round
	pushes []pendingPush // by trainer
}

// round is one batch at one location.
type round struct {
	open              bool
	batch             int64
	arrived, answered int
	firstNS           int64
	pushes            []*Push // by trainer, nil until it arrives
}

// pendingPush is the push that a trainer has in flight at a location; it is
// used again for the next one.
type pendingPush struct {
	Push
	arrival *comm.Arrival
	round   *round
	alone   [1]*Push
}

func (r *serverRole) connect(req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	r.trainers = req.GetTrainers()
	specs := BucketsFromProto(req.GetBuckets())
	server, err := build[Server](r.station, r.req.GetPart(), ServerEnv{
		Rank: r.rank(), Name: r.name(), Trainers: len(r.trainers), Buckets: specs, Recorder: r.recorder,
	})
	if err != nil {
		return nil, err
	}
	r.server, r.wake = server, server.Wake()
	r.straggler = r.recorder.Series("parameter_server_straggler_metric", "param_index_straggler")
	r.whole = r.recorder.Series("parameter_server_batch_metric", "param_index_batch")
	r.locations = make([]location, len(specs))
	for b := range r.locations {
		r.locations[b].init(r, b, len(r.trainers))
	}
	conns := make([]*comm.Conn, len(r.trainers))
	for i, t := range r.trainers {
		if conns[i], err = r.accept(t, purposePush); err != nil {
			return nil, err
		}
	}
	port := comm.NewServerPort(r.name(), conns, specs, r.timeout)
	r.own(port)
	r.owned.Go(func() {
		if err := port.Serve(r.arrive); err != nil {
			r.events.fail(err)
		}
	})
	r.owned.Go(r.watch)
	return &proto.ConnectReply{Facts: facts(nil, server)}, nil
}

func (l *location) init(r *serverRole, bucket, trainers int) {
	l.pushes = make([]pendingPush, trainers)
	for t := range l.pushes {
		p := &l.pushes[t]
		p.Bucket, p.Trainer = bucket, t
		p.alone[0] = &p.Push
		p.answer = func(g *comm.Gradient) error { return r.answer(l, p, g) }
	}
}

// arrive takes a push on the goroutine of the trainer that sent it.
func (r *serverRole) arrive(a *comm.Arrival) error {
	l := &r.locations[a.Bucket]
	l.mu.Lock()
	round := l.round(a)
	p := &l.pushes[a.Trainer]
	p.Batch, p.Gradient, p.arrival, p.round = a.Batch, a.Gradient, a, round
	round.pushes[a.Trainer] = &p.Push
	round.arrived++
	last := round.arrived == len(round.pushes)
	if last {
		r.straggler.Record(Key{a.Batch, int64(a.Bucket)}, round.firstNS, a.AtNS)
	}
	l.mu.Unlock()
	switch {
	case r.wake == EachArrival:
		return r.server.Receive(p.alone[:])
	case last:
		return r.server.Receive(round.pushes)
	}
	return nil
}

// round finds the round of the arrival's batch or opens one.
func (l *location) round(a *comm.Arrival) *round {
	var free *round
	for _, r := range l.rounds {
		if r.open && r.batch == a.Batch && r.pushes[a.Trainer] == nil {
			return r
		}
		if !r.open {
			free = r
		}
	}
	if free == nil {
		free = &round{pushes: make([]*Push, len(l.pushes))}
		l.rounds = append(l.rounds, free)
	}
	free.open, free.batch, free.firstNS = true, a.Batch, a.AtNS
	free.arrived, free.answered = 0, 0
	clear(free.pushes)
	return free
}

// answer sends g for p. The trainer may push again before Answer returns, so
// what p says must be read first.
func (r *serverRole) answer(l *location, p *pendingPush, g *comm.Gradient) error {
	l.mu.Lock()
	round, arrival := p.round, p.arrival
	l.mu.Unlock()
	r.answering.RLock()
	defer r.answering.RUnlock()
	if err := arrival.Answer(g); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	round.answered++
	if round.answered == len(round.pushes) {
		r.whole.Record(Key{round.batch, int64(p.Bucket)}, round.firstNS, comm.Now())
		round.open = false
	}
	return nil
}

// settle waits until every answer of the pass is noted.
func (r *serverRole) settle() {
	r.answering.Lock()
	defer r.answering.Unlock()
}

// watch reports the trainers whose gradient is overdue. A trainer waits for the
// server; only the server knows which other trainer it really waits for.
func (r *serverRole) watch() {
	tick := time.NewTicker(max(r.timeout/20, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.done:
			return
		}
		for b := range r.locations {
			if err := r.overdue(&r.locations[b], b, comm.Now()); err != nil {
				r.events.fail(err)
				return
			}
		}
	}
}

// overdue says whom a location waits for at nowNS for longer than the timeout.
func (r *serverRole) overdue(l *location, bucket int, nowNS int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, round := range l.rounds {
		// Where all that arrived are answered, as an asynchronous server does,
		// nobody waits for the others.
		awaited := round.open && round.answered < round.arrived && round.arrived < len(round.pushes)
		if !awaited || nowNS-round.firstNS < int64(r.timeout) {
			continue
		}
		err := &comm.WaitError{
			Waiter: r.name(), Seconds: r.timeout.Seconds(),
			What: "the gradient of " + describeBucket(round.batch, bucket),
		}
		for t, p := range round.pushes {
			if p == nil {
				err.For = append(err.For, r.trainers[t].GetName())
			}
		}
		return err
	}
	return nil
}

func (r *serverRole) reset() error {
	r.settle()
	r.server.Reset()
	r.recorder.Reset()
	return nil
}

func (r *serverRole) collect(send func(*proto.CollectReply) error) error {
	r.settle()
	return r.collectSeries(send)
}
