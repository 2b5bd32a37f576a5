package companion

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// remoteCriterion represents, in the trainer's process, a criterion that runs in a companion.
type remoteCriterion struct {
	conn    *call.Link
	timeout time.Duration
}

// NewRemoteCriterion returns the trainer's stand-in for a criterion in a companion.
func NewRemoteCriterion(conn *call.Link, timeout time.Duration) sdk.Criterion {
	return &remoteCriterion{conn, timeout}
}

func (c *remoteCriterion) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	return c.loss(output, 0, tensor.Int64Bytes(targets))
}

// ForwardFloats implements sdk.FloatCriterion, whether or not the remote criterion does.
func (c *remoteCriterion) ForwardFloats(output tensor.Tensor, targets []float32) (float64, error) {
	rows := max(1, len(output.Shape)) // at least 1, for the division below; loss reports a missing shape
	if len(output.Shape) > 0 {
		rows = max(1, output.Shape[0])
	}
	if len(targets) == 0 || len(targets)%rows != 0 {
		return 0, fmt.Errorf("%d numbers as targets do not cut into the %d rows of the output", len(targets), rows)
	}
	return c.loss(output, len(targets)/rows, tensor.Float32Bytes(targets))
}

// loss sends an output with its targets. Each row has width numbers as its target, or one class if
// width is 0.
func (c *remoteCriterion) loss(output tensor.Tensor, width int, targets []byte) (float64, error) {
	if err := layout.CheckOutput(output); err != nil {
		return 0, err
	}
	if err := c.conn.Bound(c.timeout); err != nil {
		return 0, err
	}
	h := wire.Header{Op: opLoss, Rows: int32(width), Arg: int64(output.Shape[0]), Arg2: int64(output.Shape[1])} // #nosec G115 -- fewer than a batch has
	if err := c.conn.Send(&h, tensor.Float32Bytes(output.Data), targets); err != nil {
		return 0, err
	}
	if err := call.ReadAnswer(c.conn, &h); err != nil {
		return 0, err
	}
	return math.Float64frombits(uint64(h.Arg)), nil // #nosec G115 -- the bits of a float
}

func (c *remoteCriterion) Backward(outputGradient tensor.Tensor) error {
	if err := c.conn.Bound(c.timeout); err != nil {
		return err
	}
	h := wire.Header{Op: opLossGradient}
	if err := c.conn.Send(&h); err != nil {
		return err
	}
	if err := call.ReadAnswer(c.conn, &h); err != nil {
		return err
	}
	return call.ReadFloats(c.conn, &h, outputGradient.Data)
}

// CriterionRole runs a criterion in a companion.
type CriterionRole struct {
	*process.Process
	env              sdk.CriterionEnv
	criterion        sdk.Criterion
	conn             *call.Link
	output, gradient tensor.Tensor
	own              [2][]float32 // outputs and gradients that do not lie in shared memory
	targets          sdk.Batch    // a batch with the targets of the output
	calling          sync.Mutex   // held while the criterion works
}

// NewCriterion returns the role of a process that runs a criterion for a trainer.
func NewCriterion(p *process.Process, env sdk.CriterionEnv) *CriterionRole {
	env.Engine = p.Engine
	return &CriterionRole{Process: p, env: env}
}

// Connect builds the criterion, waits for its trainer and returns the part's facts.
func (r *CriterionRole) Connect(trainer process.Peer) (map[string]string, error) {
	var err error
	r.criterion, err = hosted.NewCriterion(r.Process, r.Part(), r.env)
	if err != nil {
		return nil, err
	}
	if r.conn, err = acceptTrainer(r.Process, trainer); err != nil {
		return nil, err
	}
	if err := r.conn.Watch(r.Process); err != nil {
		return nil, err
	}
	r.Owned.Go(func() { serveCalls(r.Process, r.conn, r.answer) })
	return process.Facts(nil, r.criterion), nil
}

func (r *CriterionRole) answer(h *wire.Header) error {
	r.calling.Lock()
	defer r.calling.Unlock()
	switch h.Op {
	case opLoss:
		if err := r.read(h); err != nil {
			return err
		}
		loss, err := sdk.Loss(r.criterion, r.output, &r.targets)
		if err != nil {
			return err
		}
		return r.conn.Send(&wire.Header{Op: opLoss, Arg: int64(math.Float64bits(loss))}) // #nosec G115 -- the bits of a float
	case opLossGradient:
		var err error
		if r.gradient.Data, err = call.PlaceFloats(r.conn, &r.own[1], len(r.output.Data)); err != nil {
			return err
		}
		if err := r.criterion.Backward(r.gradient); err != nil {
			return err
		}
		return r.conn.Send(&wire.Header{Op: opLossGradient}, tensor.Float32Bytes(r.gradient.Data))
	default:
		return fmt.Errorf("a criterion does not know operation %#x", h.Op)
	}
}

// read receives the output and targets that h announces.
func (r *CriterionRole) read(h *wire.Header) error {
	rows, columns, width := h.Arg, h.Arg2, int64(h.Rows)
	each := 4 * width // bytes of one row's targets
	if width == 0 {
		each = 8
	}
	if !call.Fits(rows, columns) || width < 0 || h.Payload != uint64(rows)*uint64(4*columns+each) { // #nosec G115 -- none is negative
		return fmt.Errorf("an output of %d x %d with its targets does not take %d bytes", rows, columns, h.Payload)
	}
	var err error
	if r.output.Data, err = call.TakeFloats(r.conn, &r.own[0], int(rows*columns)); err != nil {
		return err
	}
	t := &r.targets
	if t.TargetWidth = int(width); width > 0 {
		t.FloatTargets, err = call.ReadGrowing(r.conn, t.FloatTargets, int(rows*width), tensor.Float32Bytes)
	} else {
		t.Targets, err = call.ReadGrowing(r.conn, t.Targets, int(rows), tensor.Int64Bytes)
	}
	if err != nil {
		return err
	}
	for _, t := range []*tensor.Tensor{&r.output, &r.gradient} {
		t.Shape = append(t.Shape[:0], int(rows), int(columns))
	}
	return nil
}

// Reset clears the recorded values.
func (r *CriterionRole) Reset() error {
	r.Recorder.Reset()
	return nil
}

// Collect sends the recorded values.
func (r *CriterionRole) Collect(send record.Send) error {
	return collect(r.Process, &r.calling, r.criterion, send)
}
