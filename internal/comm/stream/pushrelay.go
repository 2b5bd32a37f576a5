package stream

import (
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// PushRelay joins the trainers of one host, as one trainer, to a server on
// another host. PushRelay pushes their sum and receives the answer. The
// goroutine that carries out the group's operation calls it, one operation at a
// time. The stage computes each chunk of the sum just before the chunk is sent.
// The stage also spreads each chunk of the answer as soon as it arrives, while
// other chunks are in transit.
type PushRelay struct{ link *link }

// NewPushRelay makes a PushRelay from a connection to the server.
func NewPushRelay(server *wire.Conn, specs []tensor.BucketSpec, timeout time.Duration) *PushRelay {
	return &PushRelay{newLink(server, specs, timeout)}
}

// Sum pushes the host's sum of a dense gradient and replaces the gradient by
// the answer.
func (r *PushRelay) Sum(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error {
	return r.pushPull(o, g, stage)
}

// SumRows pushes a sparse gradient, which must already be the host's sum, and
// replaces it by the answer.
func (r *PushRelay) SumRows(o *op.Reduction, g *tensor.Gradient) error { return r.pushPull(o, g, nil) }

func (r *PushRelay) pushPull(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error {
	pushed, err := r.link.BeginFor(o, g)
	if err != nil {
		return err
	}
	return r.link.start(pushed, stage).Wait()
}

// HangUp breaks the link, so that a push without an answer fails.
func (r *PushRelay) HangUp() { _ = r.link.conn.Close() }

// Close ends the link, in order if nothing is pending. Nothing may use the link
// afterwards.
func (r *PushRelay) Close(orderly bool) {
	if !orderly {
		r.HangUp()
	}
	_ = r.link.Close()
}
