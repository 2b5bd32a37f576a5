package sdk

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/proto"
)

// remoteCriterion stands for a criterion in a companion.
type remoteCriterion struct {
	conn    *callLink
	timeout time.Duration
}

// newRemoteCriterion makes the stand-in of a companion's criterion.
func newRemoteCriterion(conn *callLink, timeout time.Duration) Criterion {
	return &remoteCriterion{conn, timeout}
}

func (c *remoteCriterion) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	if err := checkOutput(output); err != nil {
		return 0, err
	}
	if err := bound(c.conn.Conn, c.timeout); err != nil {
		return 0, err
	}
	h := comm.Header{Op: opLoss, Arg: int64(output.Shape[0]), Arg2: int64(output.Shape[1])}
	if err := c.conn.Send(&h, tensor.Float32Bytes(output.Data), tensor.Int64Bytes(targets)); err != nil {
		return 0, err
	}
	if err := readAnswer(c.conn, &h); err != nil {
		return 0, err
	}
	return math.Float64frombits(uint64(h.Arg)), nil // #nosec G115 -- the bits of a float
}

func (c *remoteCriterion) Backward(outputGradient tensor.Tensor) error {
	if err := bound(c.conn.Conn, c.timeout); err != nil {
		return err
	}
	h := comm.Header{Op: opLossGradient}
	if err := c.conn.Send(&h); err != nil {
		return err
	}
	if err := readAnswer(c.conn, &h); err != nil {
		return err
	}
	return readFloats(c.conn, &h, outputGradient.Data)
}

// criterionRole hosts a criterion in a companion.
type criterionRole struct {
	*station
	criterion        Criterion
	conn             *callLink
	output, gradient tensor.Tensor
	targets          []int64
}

func newCriterionRole(st *station) *criterionRole { return &criterionRole{station: st} }

func (r *criterionRole) connect(req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	var err error
	r.criterion, err = buildCriterion(r.station, r.req.GetPart())
	if err != nil {
		return nil, err
	}
	if r.conn, err = acceptTrainer(r.station, req); err != nil {
		return nil, err
	}
	r.own(r.conn)
	if err := takeMemory(r.station, r.conn); err != nil {
		return nil, err
	}
	r.owned.Go(func() { serveCalls(r.station, r.conn, r.answer) })
	return &proto.ConnectReply{Facts: facts(nil, r.criterion)}, nil
}

func (r *criterionRole) answer(h *comm.Header) error {
	switch h.Op {
	case opLoss:
		if err := r.read(h); err != nil {
			return err
		}
		loss, err := r.criterion.Forward(r.output, r.targets)
		if err != nil {
			return err
		}
		return r.conn.Send(&comm.Header{Op: opLoss, Arg: int64(math.Float64bits(loss))}) // #nosec G115 -- the bits of a float
	case opLossGradient:
		if err := r.criterion.Backward(r.gradient); err != nil {
			return err
		}
		return r.conn.Send(&comm.Header{Op: opLossGradient}, tensor.Float32Bytes(r.gradient.Data))
	default:
		return fmt.Errorf("a criterion does not know operation %#x", h.Op)
	}
}

// read takes the output and targets that h announces.
func (r *criterionRole) read(h *comm.Header) error {
	rows, columns := h.Arg, h.Arg2
	if !fits(rows, columns) || h.Payload != uint64(rows)*uint64(4*columns+8) { // #nosec G115 -- neither is negative
		return fmt.Errorf("an output of %d x %d with its targets does not take %d bytes", rows, columns, h.Payload)
	}
	var err error
	if r.output.Data, err = readGrowing(r.conn, r.output.Data, int(rows*columns), tensor.Float32Bytes); err != nil {
		return err
	}
	if r.targets, err = readGrowing(r.conn, r.targets, int(rows), tensor.Int64Bytes); err != nil {
		return err
	}
	r.gradient.Data = slices.Grow(r.gradient.Data[:0], len(r.output.Data))[:len(r.output.Data)]
	for _, t := range []*tensor.Tensor{&r.output, &r.gradient} {
		t.Shape = append(t.Shape[:0], int(rows), int(columns))
	}
	return nil
}

func (r *criterionRole) reset() error { return nil }

func (r *criterionRole) collect(send func(*proto.CollectReply) error) error {
	return r.collectSeries(send)
}
