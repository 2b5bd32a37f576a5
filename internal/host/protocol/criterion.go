package protocol

import (
	"fmt"
	"math"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// criterion represents a criterion in a companion. criterion copies outputs, targets and gradients
// to memory that both processes share. The shared memory grows with the batches.
type criterion struct {
	link             *link
	output, gradient room
	targets, floats  room // class targets and numeric targets
}

// NewCriterion connects to a companion with a criterion and measures the median round trip of a
// no-op call.
func NewCriterion(p *process.Process, peer process.Peer) (c sdk.Criterion, tripNS int64, err error) {
	l, err := dial(p, peer, kind{})
	if err != nil {
		return nil, 0, err
	}
	tripNS, err = l.ping()
	return &criterion{l, room{role: roleOutput}, room{role: roleOutputGradient}, room{role: roleTargets},
		room{role: roleFloatTargets}}, tripNS, err
}

// Forward implements sdk.Criterion.
func (c *criterion) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	return c.loss(output, &c.targets, tensor.Int64Bytes(targets), wire.Header{Rows: int32(len(targets))}) // #nosec G115 -- of a batch
}

// ForwardFloats implements sdk.FloatCriterion, whether or not the part takes numbers.
func (c *criterion) ForwardFloats(output tensor.Tensor, targets []float32) (float64, error) {
	if len(output.Shape) == 0 || output.Shape[0] < 1 || len(targets)%output.Shape[0] != 0 {
		return 0, fmt.Errorf("%d numbers as targets do not cut into the rows of an output of shape %v", len(targets),
			output.Shape)
	}
	return c.loss(output, &c.floats, tensor.Float32Bytes(targets), wire.Header{
		Rows: int32(len(targets)), Bucket: int32(len(targets) / output.Shape[0]), // #nosec G115 -- of a batch
	})
}

// loss asks the part for the loss of an output. loss copies the targets, which h describes, to the
// memory of their room.
func (c *criterion) loss(output tensor.Tensor, to *room, targets []byte, h wire.Header) (float64, error) {
	if err := layout.CheckOutput(output); err != nil {
		return 0, err
	}
	if err := c.output.put(c.link, tensor.Float32Bytes(output.Data)); err != nil {
		return 0, err
	}
	if err := to.put(c.link, targets); err != nil {
		return 0, err
	}
	if _, err := c.gradient.in(c.link, 4*len(output.Data)); err != nil { // announces the gradient's memory to the part
		return 0, err
	}
	h.Op, h.Arg, h.Arg2 = opLoss, int64(output.Shape[0]), int64(output.Shape[1])
	answer, err := c.link.call(&h)
	return math.Float64frombits(uint64(answer.Arg)), err // #nosec G115 -- the bits of a float
}

// Backward implements sdk.Criterion.
func (c *criterion) Backward(outputGradient tensor.Tensor) error {
	at, err := c.gradient.in(c.link, 4*len(outputGradient.Data))
	if err != nil {
		return err
	}
	if _, err := c.link.call(&wire.Header{Op: opLossGradient}); err != nil {
		return err
	}
	copy(tensor.Float32Bytes(outputGradient.Data), at)
	return nil
}
