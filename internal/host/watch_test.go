package host

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk/proto"
)

// watched is a Watch stream that stores events in memory.
type watched struct {
	grpc.ServerStream
	ctx    context.Context
	events []string
}

func (w *watched) Context() context.Context { return w.ctx }
func (w *watched) Send(e *proto.Event) error {
	if i := e.GetIterations(); i != nil {
		w.events = append(w.events, fmt.Sprintf("%v %d %v", i.GetPass(), i.GetDone(), i.GetLoss()))
	}
	if p := e.GetProgress(); p != nil {
		w.events = append(w.events, fmt.Sprintf("%v epoch %d", p.GetPass(), p.GetEpoch()))
	}
	return nil
}

// Watch reports only the epochs that the core asks for. Watch reports finished iterations at the
// requested interval, and only if there are more than before.
func TestWatchTellsWhatIsAsked(t *testing.T) {
	const epochs = 100
	first := func(every int, then ...string) []string { // expected epoch events, then those in then
		told := []string{}
		for epoch := 0; epoch < epochs && len(told) < process.MostEpochs; epoch += every {
			told = append(told, fmt.Sprint("PASS_WARM_UP epoch ", epoch))
		}
		return append(told, then...)
	}
	for _, c := range []struct {
		every  time.Duration
		epochs int32
		want   []string
	}{
		{0, 0, nil},
		{0, 2, first(2, "PASS_MEASURED epoch 0")},
		{0, 30, first(30, "PASS_MEASURED epoch 0")},
		{250 * time.Millisecond, 0, []string{"PASS_WARM_UP 100 0.5", "PASS_WARM_UP 120 0.25", "PASS_MEASURED 120 2"}},
		{250 * time.Millisecond, 5,
			first(5, "PASS_WARM_UP 100 0.5", "PASS_WARM_UP 120 0.25", "PASS_MEASURED epoch 0", "PASS_MEASURED 120 2")},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newService(nil)
			ctx, cancel := context.WithCancel(t.Context())
			w := &watched{ctx: ctx}
			ended := make(chan error)
			go func() {
				ended <- p.Watch(&proto.WatchRequest{IterationsEveryNs: int64(c.every), EpochsEvery: c.epochs}, w)
			}()
			iterate := func(n int, loss float64) {
				for range n {
					p.events.Iteration(loss)
				}
				time.Sleep(300 * time.Millisecond)
			}
			synctest.Wait() // until Watch polls
			p.events.Begin(record.WarmUp)
			for epoch := range epochs {
				p.events.Epoch(epoch)
				synctest.Wait()
			}
			iterate(100, 0.5)
			time.Sleep(time.Second)
			iterate(20, 0.25)
			p.events.Begin(record.Measured)
			p.events.Epoch(0)
			time.Sleep(time.Second)
			iterate(120, 2) // as many as before, but in another pass
			cancel()
			hosttest.Must(t, <-ended)
			if !slices.Equal(w.events, c.want) {
				t.Errorf("asked for iterations every %v and each %d. epoch it told %q, want %q", c.every, c.epochs,
					w.events, c.want)
			}
		})
	}
}

// Watch never reports iterations of one pass as those of another.
func TestIterationsAreOfOnePass(t *testing.T) {
	events := newService(nil).events
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for pass := record.WarmUp; ; pass++ { // more passes than a run has
			select {
			case <-stop:
				return
			default:
			}
			events.Begin(pass)
			for range 10 * pass {
				events.Iteration(1)
			}
		}
	}()
	for range 100_000 {
		if i := events.Iterations(); i.Done > 10*int64(i.Pass) || i.Done < 0 {
			t.Errorf("there are %+v", i)
			break
		}
	}
	close(stop)
	<-ended
}
