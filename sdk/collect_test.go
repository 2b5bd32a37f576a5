package sdk

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// collection is a Collect stream into memory.
type collection struct {
	grpc.ServerStream
	replies []*proto.CollectReply
}

func (c *collection) Send(r *proto.CollectReply) error {
	c.replies = append(c.replies, r)
	return nil
}
func (c *collection) Context() context.Context { return context.Background() }

// A process has what it recorded in its last pass and nothing of another one, nor while it
// is reset.
func TestCollectIsOfOnePass(t *testing.T) {
	w := newToyWorld(t, comm.Shm, "{}")
	p := newProcess(toyParts)
	p.role = w.trainer
	iterations := func(pass proto.Pass) (n int) {
		var c collection
		must(t, p.Collect(&proto.CollectRequest{Pass: pass}, &c))
		for _, r := range c.replies {
			n += len(r.GetLosses())
		}
		return n
	}
	for _, pass := range []proto.Pass{proto.Pass_PASS_WARM_UP, proto.Pass_PASS_MEASURED} {
		_, err := p.Reset(t.Context(), &proto.ResetRequest{Pass: pass})
		must(t, err)
		_, err = p.Train(t.Context(), &proto.TrainRequest{})
		must(t, err)
		for _, asked := range []proto.Pass{proto.Pass_PASS_WARM_UP, proto.Pass_PASS_MEASURED} {
			want := 0
			if asked == pass {
				want = 4
			}
			if n := iterations(asked); n != want {
				t.Errorf("in pass %v there are %d iterations of pass %v, want %d", pass, n, asked, want)
			}
		}
	}
	p.recorded.Lock()
	defer p.recorded.Unlock()
	if n := iterations(proto.Pass_PASS_MEASURED); n != 0 {
		t.Errorf("in a reset there are %d iterations", n)
	}
}

// What is collected while a pass goes on is of iterations that ended, with their samples.
func TestCollectDuringAPass(t *testing.T) {
	t.Parallel()
	r := newToyWorld(t, comm.Shm, "{}").trainer
	must(t, r.reset())
	whole := r.recorder.Series("batch_level_metric", "batch_all")
	r.training.Lock() // the pass does not end
	defer r.training.Unlock()
	r.Epoch(0)
	ended, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := r.parts.Batches.Next(); err != nil {
				t.Error(err)
			}
			whole.Record(Key{A: i}, comm.Now(), comm.Now())
			r.Loss(1)
		}
	}()
	losses, recorded := 0, 0
	var work *proto.Work
	must(t, r.collect(func(reply *proto.CollectReply) error {
		losses += len(reply.GetLosses())
		for _, s := range reply.GetSeries() {
			if s.GetType() == whole.Type {
				recorded += len(s.GetStartNs())
			}
		}
		if reply.GetWork() != nil {
			work = reply.GetWork()
		}
		return nil
	}))
	close(stop)
	<-ended
	if losses == 0 || recorded != losses && recorded != losses+1 {
		t.Errorf("there are %d measurements of %d iterations", recorded, losses)
	}
	// The toy has four batches of 2, 2, 2 and 1 samples.
	if want := int64(losses/4*7 + losses%4*2); work.GetSamples() != want || work.GetEndNs() < work.GetStartNs() || work.GetStartNs() == 0 {
		t.Errorf("the work is %v after %d iterations, want %d samples", work, losses, want)
	}
}
