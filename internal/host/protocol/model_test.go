package protocol

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
	"github.com/psbench/psbench/sdk"
)

// described is a model with a dense parameter [2, 2] and a table [100, 2]. described also computes
// the gradient of its features.
var described = layout.Model{
	Parameters: []sdk.ParameterSpec{{Name: "weight", Shape: []int{2, 2}},
		{Name: "table", Shape: []int{100, 2}, Sparse: true}},
	Inputs: sdk.InputSpec{Rows: 100, Features: 2, Classes: 2, Targets: 1}, FeatureGradient: true, Steps: true,
	Evaluates: true,
}

// playModel computes features times weight plus the sum of each bag's rows, and the gradients. The
// model's evaluate returns twice the output. A step subtracts the gradients.
func playModel() takes {
	var samples, indices int64
	room := false
	return func(p *protocoltest.Part, f wire.Header) error {
		switch f.Op {
		case opInitialize:
			for i := range 4 {
				p.Floats(uint8(roleValues), 0)[i] = float32(f.Arg) + float32(i)
			}
			clear(p.Floats(uint8(roleValues), 1))
		case opForward, opEvaluate:
			samples, indices = f.Arg2, f.Batch
			if !room {
				room = true
				if err := p.Give(uint8(roleOutput), 0, make([]byte, 4096)); err != nil {
					return err
				}
			}
			out := tensor.ViewFloat32(p.Mine(uint8(roleOutput), 0))
			weight, features := p.Floats(uint8(roleValues), 0), p.Floats(uint8(roleFeatures), 0)
			offsets := tensor.ViewInt64(p.Of(uint8(roleOffsets), 0))
			for s := range int(samples) {
				for c := range 2 {
					out[2*s+c] = features[2*s]*weight[c] + features[2*s+1]*weight[2+c]
					for _, row := range tensor.ViewInt64(p.Of(uint8(roleIndices), 0))[offsets[s]:offsets[s+1]] {
						out[2*s+c] += p.Floats(uint8(roleValues), 1)[2*row+int64(c)]
					}
					if f.Op == opEvaluate {
						out[2*s+c] *= 2
					}
				}
			}
			return p.Send(wire.Header{Op: f.Op, Arg: samples, Arg2: 2})
		case opBackward, opBackwardInput:
			up := p.Floats(uint8(roleOutputGradient), 0)
			rows := tensor.ViewOf[int32](p.Of(uint8(roleGradientRows), 1), 2)
			rows[0], rows[1] = 3, 5
			for i := range 4 {
				p.Floats(uint8(roleGradient), 1)[i] = up[0]
				p.Floats(uint8(roleGradient), 0)[i] = up[i] * float32(indices)
			}
			if err := p.Send(wire.Header{Op: opGradient, Bucket: 1, Rows: 2}); err != nil {
				return err
			}
			if err := p.Send(wire.Header{Op: opGradient}); err != nil {
				return err
			}
			if f.Op == opBackwardInput {
				p.Floats(uint8(roleFeatureGradient), 0)[3] = 8
			}
		case opGradient:
			indices = int64(f.Rows) // number of rows in the reduced table gradient
			return nil
		case opStep:
			p.Floats(uint8(roleValues), 0)[0] = float32(indices)
		}
		return p.Send(f)
	}
}

// modelOf connects to a test double; take plays the model.
func modelOf(t testing.TB, d layout.Model,
	take takes) (m sdk.Model, values []tensor.Tensor, gradients []*tensor.Gradient) {
	t.Helper()
	folder := t.TempDir()
	p := newHost(t, folder, "trainer0", "unix", late)
	specs := []tensor.BucketSpec{
		{Index: 0, Elements: 200, Sparse: true, TableRows: 100, Width: 2, Capacity: 6,
			Parameters: []tensor.Span{{Parameter: 1, Elements: 200}}},
		{Index: 1, Elements: 4, Parameters: []tensor.Span{{Parameter: 0, Elements: 4}}},
	}
	gradients, store, err := layout.New(d.Parameters, specs, func(specs []tensor.BucketSpec) (*comm.Store, error) {
		return p.Fabric.InSegments().NewStore(p.Name(), specs)
	})
	if err != nil {
		t.Fatal(err)
	}
	p.OwnMemory(store)
	segment, err := shm.New("parameters", layout.ValuesBytes(d.Parameters), true)
	if err != nil {
		t.Fatal(err)
	}
	p.OwnMemory(segment)
	values = layout.ViewValues(segment.Bytes(), d.Parameters)
	_, peer := protocoltest.NewPart(t, folder, "trainer0.part", take)
	m, _, err = NewModel(p, peer, &d, Memory{Values: segment, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Bind(values, gradients); err != nil {
		t.Fatal(err)
	}
	return m, values, gradients
}

var batch = sdk.Batch{Indices: []int64{3, 5, 5}, Offsets: []int64{0, 1, 3}, Features: []float32{1, 2, 3, 4},
	Targets: []int64{0, 1}}

func TestModel(t *testing.T) {
	m, values, gradients := modelOf(t, described, playModel())
	m.Initialize(10)
	copy(values[1].Data[6:], []float32{100, 0, 0, 0, 1000, 0}) // values of rows 3 and 5
	out, err := m.Forward(&batch)
	if got := fmt.Sprint(out.Shape, out.Data); err != nil || got != "[2 2] [134 37 2078 85]" {
		t.Fatalf("the output is %s, %v", got, err)
	}
	out, err = m.(sdk.EvaluatingModel).Evaluate(&batch)
	if err != nil || out.Data[3] != 170 {
		t.Errorf("the output of an evaluation is %v, %v", out.Data, err)
	}
	var emitted []int
	input := make([]float32, 4)
	up := tensor.Tensor{Shape: []int{2, 2}, Data: []float32{1, 2, 3, 4}}
	err = m.(sdk.FeatureModel).BackwardInput(up, input, func(k int) { emitted = append(emitted, k) })
	if got := fmt.Sprint(emitted, gradients[0].Values, gradients[1].Rows, gradients[1].Values, input); err != nil ||
		got != "[1 0] [3 6 9 12] [3 5] [1 1 1 1] [0 0 0 8]" {
		t.Errorf("a backward pass gave %s, %v", got, err)
	}
	if err := gradients[1].SetRows(5); err != nil {
		t.Fatal(err)
	}
	if err := m.(sdk.SteppingModel).Step(); err != nil || values[0].Data[0] != 5 {
		t.Errorf("a step left %v, %v; the part was to be told of 5 rows", values[0].Data, err)
	}
	// A batch larger than all earlier batches still finds room.
	large := sdk.Batch{Offsets: make([]int64, 101), Features: make([]float32, 200), Targets: make([]int64, 100)}
	if out, err = m.Forward(&large); err != nil || len(out.Data) != 200 {
		t.Errorf("the output of a large batch has %d values, %v", len(out.Data), err)
	}
}

func TestModelRefusesLies(t *testing.T) {

	for name, c := range map[string]struct {
		op   wire.Op // the part misbehaves in this operation
		does []wire.Header
		want string
	}{
		"other samples": {opForward, []wire.Header{{Op: opForward, Arg: 3, Arg2: 2}},
			"trainer0.part answered a batch of 2 with an output of 3 x 2"},
		"columns below 0": {opForward, []wire.Header{{Op: opForward, Arg: 2, Arg2: -1}},
			"trainer0.part answered a batch of 2 with an output of 2 x -1"},
		"columns beyond all": {opForward, []wire.Header{{Op: opForward, Arg: 2, Arg2: math.MaxInt64}},
			"with an output of 2 x 9223372036854775807"},
		"no output": {opForward, []wire.Header{{Op: opForward, Arg: 2, Arg2: 2}},
			"trainer0.part has announced no tensor 0 of role 10"},
		"another answer": {opForward, []wire.Header{{Op: opBackward}},
			"trainer0.part sent backward, which was not requested"},
		"a second output": {opForward, []wire.Header{{Op: opTensor, Flags: uint8(roleOutput), Bucket: 1}},
			"trainer0.part announced tensor 1 of role 10, which it does not have"},
		"no segment": {opForward, []wire.Header{{Op: opTensor, Flags: uint8(roleOutput), Rows: 99}},
			"announced tensor 0 of role 10 in segment 99, which it was not given to write"},
		"beyond its segment": {opForward,
			[]wire.Header{{Op: opTensor, Flags: uint8(roleOutput), Arg: 64, Arg2: math.MaxInt64 / 2}},
			"elements of 4 bytes at byte 64 of a segment of"},
		"before its segment": {opForward, []wire.Header{{Op: opTensor, Flags: uint8(roleOutput), Arg: -4, Arg2: 1}},
			"at byte -4 of a segment of"},
		"within an element": {opForward, []wire.Header{{Op: opTensor, Flags: uint8(roleOutput), Arg: 2, Arg2: 1}},
			"at byte 2 of a segment of"},
		"an output too large": {opForward, []wire.Header{{Op: opTensor, Flags: uint8(roleOutput), Arg2: 3},
			{Op: opForward, Arg: 2, Arg2: 2}},
			"trainer0.part gave 4 elements of tensor 0 of role 10, which has room for 3"},
		"a gradient too far": {opBackward, []wire.Header{{Op: opGradient, Bucket: 2}},
			"trainer0.part emitted the gradient of parameter 2 but has 2 parameters"},
		"a gradient twice": {opBackward, []wire.Header{{Op: opGradient}, {Op: opGradient}},
			"trainer0.part emitted the gradient of parameter weight twice"},
		"a gradient missing": {opBackward, []wire.Header{{Op: opGradient}, {Op: opBackward}},
			"trainer0.part ended its backward pass without emitting the gradient of parameter table"},
		"gradients without end": {opBackward, slices.Repeat([]wire.Header{{Op: opGradient}}, 64), "trainer0.part"},
		"rows of a dense one": {opBackward, []wire.Header{{Op: opGradient, Rows: 2}},
			"trainer0.part sent a gradient of 2 rows of parameter weight, which is dense"},
		"too many rows": {opBackward, []wire.Header{{Op: opGradient, Bucket: 1, Rows: 7}},
			"trainer0.part sent a gradient of parameter table: bucket 0: a sparse gradient of 7 rows does not fit a capacity of 6 rows"},
		"an early answer": {opForward, []wire.Header{{Op: opTensor, Flags: uint8(roleOutput), Arg2: 4},
			{Op: opForward, Arg: 2, Arg2: 2}, {Op: opForward, Arg: 2, Arg2: 2}},
			"trainer0.part sent forward, which was not requested"},
	} {
		t.Run(name, func(t *testing.T) {
			honest := playModel()
			m, _, _ := modelOf(t, described, func(p *protocoltest.Part, f wire.Header) error {
				if f.Op != c.op {
					return honest(p, f)
				}
				for _, lie := range c.does {
					if err := p.Send(lie); err != nil {
						return io.EOF // the host has closed the link
					}
				}
				return nil
			})
			m.Initialize(1)
			var err error
			for range 3 { // at the latest, the next call notices an unrequested answer
				if _, err = m.Forward(&batch); err != nil {
					break
				}
				if err = m.Backward(tensor.New(2, 2), func(int) {}); err != nil {
					break
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it ended with %v, want %q", err, c.want)
			}
		})
	}
}

// playCriterion computes the loss from the first output and the last target. Element 1 of the
// gradient is always 4.
func playCriterion(p *protocoltest.Part, f wire.Header) error {
	output, targets := p.Floats(uint8(roleOutput), 0), tensor.ViewInt64(p.Of(uint8(roleTargets), 0))
	switch f.Op {
	case opLoss:
		return p.Send(wire.Header{Op: opLoss, Arg: int64(math.Float64bits(float64(output[0]) + float64(targets[f.Rows-1])))}) // #nosec G115 -- bits
	default:
		p.Floats(uint8(roleOutputGradient), 0)[1] = 4
		return p.Send(f)
	}
}

// criterionOf connects to a test double; take plays the criterion.
func criterionOf(t testing.TB, take takes) sdk.Criterion {
	t.Helper()
	folder := t.TempDir()
	_, peer := protocoltest.NewPart(t, folder, "trainer0.part", take)
	c, trip, err := NewCriterion(newHost(t, folder, "trainer0", "unix", late), peer)
	if err != nil || trip <= 0 {
		t.Fatalf("a criterion was joined in %d ns with %v", trip, err)
	}
	return c
}

func TestCriterion(t *testing.T) {
	c := criterionOf(t, playCriterion)
	for _, samples := range []int{2, 100, 3} {
		t.Run(fmt.Sprint(samples), func(t *testing.T) {
			output, targets := tensor.New(samples, 2), make([]int64, samples)
			output.Data[0], targets[samples-1] = 0.5, 7
			if loss, err := c.Forward(output, targets); err != nil || loss != 7.5 {
				t.Errorf("the loss is %v, %v", loss, err)
			}
			if err := c.Backward(output); err != nil || output.Data[1] != 4 {
				t.Errorf("the gradient is %v, %v", output.Data, err)
			}
		})
	}
	if _, err := c.Forward(tensor.New(3), nil); err == nil {
		t.Error("an output without columns was taken")
	}
}

// BenchmarkCall measures the round trip of a no-op call.
func BenchmarkCall(b *testing.B) {
	c := criterionOf(b, playCriterion).(*criterion)
	if _, err := c.Forward(tensor.New(1, 2), []int64{0}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.link.call(&wire.Header{Op: opLossGradient}); err != nil {
			b.Fatal(err)
		}
	}
}
