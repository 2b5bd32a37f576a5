package stream

import (
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// PushRelay joins the trainers of a host, as one, to a server on another: it pushes their sum and fetches the answer.
// Whoever carries an operation of their group out calls it, one at a time. The stage makes each chunk of the sum
// just before that is sent, and spreads each chunk of the answer as soon as it is there, while the next ones are on
// the wire.
type PushRelay struct{ link *link }

// NewPushRelay makes it of a connection to the server.
func NewPushRelay(server *wire.Conn, specs []tensor.BucketSpec, timeout time.Duration) *PushRelay {
	return &PushRelay{newLink(server, specs, timeout)}
}

// Sum pushes the host's sum of a dense gradient, and makes the gradient the answer.
func (r *PushRelay) Sum(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error {
	return r.pushPull(o, g, stage)
}

// SumRows pushes a sparse gradient, which is the host's sum already, and makes it the answer.
func (r *PushRelay) SumRows(o *op.Reduction, g *tensor.Gradient) error { return r.pushPull(o, g, nil) }

func (r *PushRelay) pushPull(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error {
	pushed, err := r.link.BeginFor(o, g)
	if err != nil {
		return err
	}
	return r.link.start(pushed, stage).Wait()
}

// HangUp breaks the link, so that a push that waits for its answer fails.
func (r *PushRelay) HangUp() { _ = r.link.conn.Close() }

// Close ends the link, which is orderly where nothing is pending on it; then nothing may run on it any more.
func (r *PushRelay) Close(orderly bool) {
	if !orderly {
		r.HangUp()
	}
	_ = r.link.Close()
}
