package host

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// collection is a Collect stream that stores the sent pieces in memory.
type collection struct {
	grpc.ServerStream
	replies []*proto.CollectReply
}

func (c *collection) Send(r *proto.CollectReply) error {
	c.replies = append(c.replies, r)
	return nil
}
func (c *collection) Context() context.Context { return context.Background() }

// losing is a role that records four losses in a pass.
type losing struct{ losses []float64 }

func (c *losing) Reset() error { c.losses = nil; return nil }
func (c *losing) Train(context.Context, stop.Length) (*record.Work, error) {
	c.losses = append(c.losses, 4, 3, 2, 1)
	return &record.Work{}, nil
}
func (c *losing) Collect(send record.Send) error {
	return send(record.Losses(c.losses))
}

// Collect returns the records of the requested pass only, and none during a reset.
func TestCollectIsOfOnePass(t *testing.T) {
	p := newService(nil)
	p.role, p.process = &losing{}, &process.Process{Recorder: &sdk.Recorder{}}
	iterations := func(pass proto.Pass) (n int) {
		var c collection
		hosttest.Must(t, p.Collect(&proto.CollectRequest{Pass: pass}, &c))
		for _, r := range c.replies {
			n += len(r.GetLosses().GetValues())
		}
		return n
	}
	for _, pass := range []proto.Pass{proto.Pass_PASS_WARM_UP, proto.Pass_PASS_MEASURED} {
		_, err := p.Reset(t.Context(), &proto.ResetRequest{Pass: pass})
		hosttest.Must(t, err)
		_, err = p.Train(t.Context(), &proto.TrainRequest{})
		hosttest.Must(t, err)
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
