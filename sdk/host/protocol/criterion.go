package protocol

import (
	"math"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/wire"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/layout"
	"github.com/psbench/psbench/sdk/host/process"
)

// criterion stands for a criterion in a companion. What it works on is copied to memory of both
// sides, which grows with the batches.
type criterion struct {
	link                      *link
	output, gradient, targets room
}

// NewCriterion joins a companion with a criterion. It measures the median round trip of a no-op
// call.
func NewCriterion(p *process.Process, peer process.Peer) (c sdk.Criterion, tripNS int64, err error) {
	l, err := dial(p, peer, kind{})
	if err != nil {
		return nil, 0, err
	}
	tripNS, err = l.ping()
	return &criterion{l, room{role: roleOutput}, room{role: roleOutputGradient}, room{role: roleTargets}}, tripNS, err
}

// Forward implements sdk.Criterion.
func (c *criterion) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	if err := layout.CheckOutput(output); err != nil {
		return 0, err
	}
	if err := c.output.put(c.link, tensor.Float32Bytes(output.Data)); err != nil {
		return 0, err
	}
	if err := c.targets.put(c.link, tensor.Int64Bytes(targets)); err != nil {
		return 0, err
	}
	if _, err := c.gradient.in(c.link, 4*len(output.Data)); err != nil { // so that it is announced
		return 0, err
	}
	answer, err := c.link.call(&wire.Header{
		Op: opLoss, Rows: int32(len(targets)), // #nosec G115 -- of a batch
		Arg: int64(output.Shape[0]), Arg2: int64(output.Shape[1]),
	})
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
