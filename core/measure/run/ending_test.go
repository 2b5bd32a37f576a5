package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/psbench/psbench/core/host/noise"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk/proto"
)

// runner simulates a trainer that trains at a given pace, or a server of such trainers. The core sees an ordinary
// process.
type runner struct {
	cluster.Process
	pace    time.Duration // duration of one iteration
	slow    time.Duration // how long it takes to answer a Bound call
	fails   string        // name of the call that fails
	partner *lockstep     // nil means that it waits for nobody

	mu       sync.Mutex
	point    stop.Point
	known    chan struct{}
	waited   bool      // it had to wait at its bound
	end      time.Time // end of its pass
	expected [][]int64 // batches per trainer in the Expect calls of a server
	early    bool      // it learned the end of its pass before its server did
	server   *runner
}

var errRunner = errors.New("it stumbled")

func (p *runner) Site() cluster.Site      { return cluster.Site{} }
func (p *runner) Exited() <-chan struct{} { return nil }
func (p *runner) PID() int                { return 0 }

func (p *runner) Watch(context.Context, *proto.WatchRequest,
	...grpc.CallOption) (grpc.ServerStreamingClient[proto.Event], error) {
	return nil, errors.New("nobody watches")
}

func (p *runner) Close(context.Context, *proto.CloseRequest, ...grpc.CallOption) (*proto.CloseReply, error) {
	return &proto.CloseReply{}, nil
}

func (p *runner) Reset(context.Context, *proto.ResetRequest, ...grpc.CallOption) (*proto.ResetReply, error) {
	return nil, nil
}

func (p *runner) Expect(_ context.Context, req *proto.ExpectRequest, _ ...grpc.CallOption) (*proto.ExpectReply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = append(p.expected, req.GetBatches())
	return nil, nil
}

func (p *runner) Train(ctx context.Context, req *proto.TrainRequest, _ ...grpc.CallOption) (*proto.TrainReply, error) {
	if req.Epochs != nil || req.Iterations != nil {
		return nil, errors.New("the pass is not timed")
	}
	for {
		if err := sleep(ctx, p.pace); err != nil {
			return nil, err
		}
		p.mu.Lock()
		done := p.point.Done()
		p.mu.Unlock()
		if p.fails == "Train" && done == 3 {
			return nil, errRunner
		}
		if err := p.partner.wait(ctx); err != nil {
			return nil, err
		}
		p.mu.Lock()
		state := p.point.Step()
		p.mu.Unlock()
		if state == stop.Wait {
			p.waited = true
			select {
			case <-p.known:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			p.mu.Lock()
			state = p.point.State()
			p.mu.Unlock()
		}
		if state == stop.Over {
			p.end = time.Now()
			return &proto.TrainReply{}, nil
		}
	}
}

func (p *runner) Bound(ctx context.Context, req *proto.BoundRequest, _ ...grpc.CallOption) (*proto.BoundReply, error) {
	if p.fails == "Bound" {
		return nil, errRunner
	}
	p.mu.Lock()
	bound := p.point.Bound(req.GetAheadNs() / int64(p.pace))
	p.mu.Unlock()
	return &proto.BoundReply{Iterations: bound}, sleep(ctx, p.slow)
}

func (p *runner) End(_ context.Context, req *proto.EndRequest, _ ...grpc.CallOption) (*proto.EndReply, error) {
	p.server.mu.Lock()
	p.early = len(p.server.expected) != 2
	p.server.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.known)
	return nil, p.point.End(req.GetIterations())
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lockstep makes trainers wait for each other in every iteration.
type lockstep struct {
	mu   sync.Mutex
	all  int
	here int
	gate chan struct{}
}

func (l *lockstep) wait(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	if l.gate == nil {
		l.gate = make(chan struct{})
	}
	gate := l.gate
	if l.here++; l.here == l.all {
		l.here, l.gate = 0, nil
		close(gate)
	}
	l.mu.Unlock()
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runners starts the runners by name.
type runners map[string]*runner

func (s runners) Site(string) cluster.Site { return cluster.Site{} }
func (s runners) Close(bool) error         { return nil }
func (s runners) Start(_ context.Context, spec launch.Spec) (cluster.Process, error) {
	return s[spec.Name], nil
}

// Connected trainers end a timed pass after the same iteration, close to the planned time. Their paces and their delays
// in answering do not matter. A failure of one trainer ends the pass for all.
func TestTrainersAgreeOnTheEnd(t *testing.T) {
	const length = 10 * time.Second // long enough that milliseconds do not matter
	for name, c := range map[string]struct {
		paces    []time.Duration
		slow     []time.Duration // delay of the answer
		lockstep bool
		alone    bool   // nothing connects them
		fails    string // name of the call that fails in the last trainer
		late     time.Duration
		waits    bool // a trainer has to wait at its bound
		want     []int64
	}{
		"even": {paces: []time.Duration{time.Second / 100, time.Second / 100}, lockstep: true,
			want: []int64{1000, 1000}},
		"uneven": {paces: []time.Duration{time.Second / 100, time.Second / 50}, want: []int64{1000, 1000},
			late: 10 * time.Second},
		"by turns": {paces: []time.Duration{time.Second / 100, time.Second / 50}, lockstep: true,
			want: []int64{510, 510}, late: time.Second},
		"slow to answer": {
			paces: []time.Duration{time.Second / 100, time.Second / 100}, slow: []time.Duration{0, 3 * time.Second},
			want: []int64{1000, 1000}, waits: true, late: 4 * time.Second,
		},
		"slower than the pass": {paces: []time.Duration{time.Minute, time.Minute}, lockstep: true,
			want: []int64{1, 1}, late: time.Minute},
		"alone": {paces: []time.Duration{time.Second / 100, time.Second / 50}, alone: true,
			want: []int64{1000, 500}},
		"one fails to train": {paces: []time.Duration{time.Second / 100, time.Second}, lockstep: true,
			fails: "Train"},
		"one dies as it is asked": {paces: []time.Duration{time.Second / 100, time.Second}, lockstep: true,
			fails: "Bound"},
		"one dies, the others wait": {paces: []time.Duration{time.Millisecond, time.Millisecond, time.Hour},
			fails: "Bound"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				links := registry.Links{Server: !c.alone}
				r := laidOut(&run{e: experiment(len(c.paces), 1, links), o: Options{Progress: Silent},
					noise: noise.NewMeter(func() []noise.Process { return nil })})
				r.e.Length = stop.Length{Time: length}
				settled(r)
				all := runners{}
				server := &runner{}
				partner := &lockstep{all: len(c.paces)}
				for i, p := range r.processes.all {
					q := &runner{pace: time.Second, known: make(chan struct{}), server: server}
					if p == r.processes.servers[0] {
						q = server
					}
					if i > 0 && i <= len(c.paces) {
						q.pace = c.paces[i-1]
						if c.slow != nil {
							q.slow = c.slow[i-1]
						}
						if c.lockstep {
							q.partner = partner
						}
					}
					if i == len(c.paces) {
						q.fails = c.fails
					}
					all[p.Name] = q
					p.Env = func() []string { return nil }
				}
				r.cluster = cluster.New(r.e.Timeout, r.processes.all,
					cluster.Options{
						Open: func(*placement.Layout, time.Duration, launch.Output) (cluster.Starter, error) {
							return all, nil
						},
					})
				var began time.Time
				err := r.cluster.Run(t.Context(), cluster.Life{
					Phases: []cluster.Phase{{Name: "launch", Do: r.cluster.Start},
						{Name: "measured pass", Do: func(ctx context.Context) error {
							began = time.Now()
							return r.train(ctx, record.Measured)
						}}},
					Tell: func(string) {}, Report: func(error) {},
				})
				if c.want == nil {
					if err == nil || !strings.Contains(err.Error(), errRunner.Error()) {
						t.Errorf("the run ended with %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				waited, done := false, make([]int64, len(c.paces))
				for i, p := range r.processes.trainers {
					q := all[p.Name]
					done[i] = q.point.Done()
					if off := done[i] - c.want[i]; off < -1 || off > 1 { // one may end just as the core asks
						t.Errorf("%s ran %d iterations, want %d", p.Name, done[i], c.want[i])
					}
					if !c.alone && done[i] != done[0] {
						t.Errorf("connected trainers ran %d and %d iterations", done[0], done[i])
					}
					if took := q.end.Sub(began); took > length+c.late || took < length-time.Second {
						t.Errorf("%s took %s", p.Name, took)
					}
					if q.early && !c.alone {
						t.Errorf("%s was told the end before its server was", p.Name)
					}
					waited = waited || q.waited
				}
				if waited != c.waits {
					t.Errorf("a trainer waited at its bound: %v", waited)
				}
				if want := [][]int64{nil, done}; !c.alone && !slices.EqualFunc(want, server.expected, slices.Equal) {
					t.Errorf("the server was told of %v batches, want %v", server.expected, want)
				}
			})
		})
	}
}
