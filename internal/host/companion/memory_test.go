package companion

import (
	"strings"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/sdk"
)

func TestCallMemoryIsEnough(t *testing.T) {
	bags, err := batches.Cut(hosttest.Samples([][]int64{{1, 2, 3}, {4}, {5, 6}}, 0, 1, 2), 2)
	hosttest.Must(t, err)
	numbers, err := batches.Cut(hosttest.Rows(3, 1, 2, 3, 4, 5, 6), 2)
	hosttest.Must(t, err)
	looked := []sdk.Batch{{Indices: []int64{1, 2}, Offsets: []int64{0, 1, 2}, Targets: make([]int64, 6)}}
	floats := []sdk.Batch{{Features: []float32{1, 2, 3, 4}, FloatTargets: make([]float32, 180), TargetWidth: 90}}
	const bagBytes, numberBytes = 8*batches.Lists + 8*(3+4+2), 8*batches.Lists + 8*2 + 4*6
	for name, c := range map[string]struct {
		batches []sdk.Batch
		in      sdk.InputSpec
		want    int
		width   int
	}{
		"the batch":          {bags, sdk.InputSpec{Classes: 1}, bagBytes, 0},
		"the output":         {bags, sdk.InputSpec{Classes: 100}, 2 * (400 + 8), 0},
		"no output":          {bags, sdk.InputSpec{Classes: 1 << 62}, bagBytes, 0},
		"numbers":            {numbers, sdk.InputSpec{Classes: 1, Features: 3}, numberBytes, 0},
		"impossible numbers": {numbers, sdk.InputSpec{Classes: 1, Features: 1 << 62}, numberBytes, 0},
		"three rows of each": {looked, sdk.InputSpec{Classes: 1, Features: 50}, 8*batches.Lists + 8*(3+2+6) + 4*6*50,
			0},
		"two targets of each": {looked, sdk.InputSpec{Classes: 1, Features: 50, Targets: 2},
			8*batches.Lists + 8*(3+2+6) + 4*3*50, 0},
		"nothing":       {nil, sdk.InputSpec{}, 1, 0},
		"float targets": {floats, sdk.InputSpec{Outputs: 90, Features: 2}, 4*2*90 + 4*2*90, 90},
		"rows of float targets": {floats, sdk.InputSpec{Outputs: 30, Features: 50}, 8*batches.Lists + 4*2*90 + 4*6*50,
			90},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CallMemory(batches.AllLengths(c.batches), c.in, c.width); got != c.want {
				t.Errorf("%s: %d bytes, want %d", name, got, c.want)
			}
		})
	}
}

// A false description of a gradient is refused, whether the gradient is mapped or follows in the
// frame.
func TestRemoteModelRefusesGradients(t *testing.T) {
	specs := []tensor.BucketSpec{{Parameters: []tensor.Span{{Elements: 8}}, Elements: 8, Sparse: true, TableRows: 4,
		Width: 2, Capacity: 4}}
	for want, h := range map[string]wire.Header{
		"of 0 rows and 1 values":                            {Arg: 1, Arg2: 1}, // too short
		"of 1 rows and 2 values":                            {Arg: 1, Arg2: 2, Rows: 1},
		"of 2 rows and 2 values":                            {Arg2: 2, Rows: 2}, // wrong width
		"a sparse gradient of 5 rows does not fit":          {Arg2: 10, Rows: 5},
		"a sparse gradient of -1 rows does not fit":         {Rows: -1},
		"companion emitted the gradient of parameter 2 but": {Arg: 2},
	} {
		t.Run(want, func(t *testing.T) {
			for _, mapped := range []*comm.Store{nil, comm.NewStore(specs)} {
				trainer, companion := callPair(t)
				m := newRemoteModel(trainer, mapped, layout.Describe(&hosttest.ToyModel{}), hosttest.Patience)
				table := tensor.NewGradient(specs[0])
				hosttest.Must(t,
					m.Bind(make([]tensor.Tensor, 2), []*tensor.Gradient{&table, {Values: make([]float32, 2)}}))
				h.Op = opGradient
				var payload []byte
				if mapped == nil {
					payload = make([]byte, 4*(max(0, int64(h.Rows))+h.Arg2))
				}
				hosttest.Must(t, companion.Send(&h, payload))
				if err := m.Backward(tensor.Tensor{}, func(int) {}); err == nil ||
					!strings.Contains(err.Error(), want) {
					t.Errorf("mapped %v: %v, want %q", mapped != nil, err, want)
				}
			}
		})
	}
}

// A mapped model neither accepts nor sends values and gradients in frames.
func TestMappedModelRefusesPayloads(t *testing.T) {
	for want, h := range map[string]wire.Header{
		"where a value is due":            {Op: opValue, Arg: 0},
		"where a value is due ":           {Op: opGradient, Arg: 0},
		"in 8 bytes for parameter weight": {Op: opGradient, Arg: 1, Arg2: 2},
	} {
		t.Run(want, func(t *testing.T) {
			trainer, companion := callPair(t)
			m := newRemoteModel(trainer, comm.NewStore(nil), layout.Describe(&hosttest.ToyModel{}), hosttest.Patience)
			hosttest.Must(t,
				m.Bind(make([]tensor.Tensor, 2), []*tensor.Gradient{{Width: 2}, {Values: make([]float32, 2)}}))
			hosttest.Must(t, companion.Send(&h, make([]byte, 8)))
			var err error
			if strings.Contains(want, "value") {
				err = m.initialize(0)
			} else {
				err = m.Backward(tensor.Tensor{}, func(int) {})
			}
			if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
