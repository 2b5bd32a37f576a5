package sdk_test

import (
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// line is a linear model of one input: y = slope*x + offset.
type line struct {
	slope, offset     []float32
	slopeGradient     *tensor.Gradient
	offsetGradient    *tensor.Gradient
	inputs, predicted []float32 // inputs and outputs of the last Forward
}

func newLine(struct{}, sdk.ModelEnv) (sdk.Model, error) { return &line{}, nil }

// Parameters implements sdk.Model.
func (l *line) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{{Name: "slope", Shape: []int{1}}, {Name: "offset", Shape: []int{1}}}
}

// Inputs implements sdk.Model.
func (l *line) Inputs() sdk.InputSpec { return sdk.InputSpec{Features: 1, Classes: 1, Outputs: 1} }

// Bind implements sdk.Model. The trainer owns parameters and gradients.
func (l *line) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	l.slope, l.offset = values[0].Data, values[1].Data
	l.slopeGradient, l.offsetGradient = gradients[0], gradients[1]
	return nil
}

// Initialize implements sdk.Model. Every pass begins with the same line.
func (l *line) Initialize(uint64) { l.slope[0], l.offset[0] = 1, 0 }

// Forward implements sdk.Model.
func (l *line) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	l.inputs, l.predicted = b.Features, l.predicted[:0]
	for _, x := range b.Features {
		l.predicted = append(l.predicted, l.slope[0]*x+l.offset[0])
	}
	return tensor.Tensor{Shape: []int{b.Size(), 1}, Data: l.predicted}, nil
}

// Backward implements sdk.Model. The offset's gradient is ready first, so it is emitted first and
// its reduction overlaps the rest.
func (l *line) Backward(up tensor.Tensor, emit func(parameter int)) error {
	l.slopeGradient.Values[0], l.offsetGradient.Values[0] = 0, 0
	for _, d := range up.Data {
		l.offsetGradient.Values[0] += d
	}
	emit(1)
	for i, d := range up.Data {
		l.slopeGradient.Values[0] += d * l.inputs[i]
	}
	emit(0)
	return nil
}

// linePart is the part that the plugin's main function passes to plugin.Serve.
var linePart = sdk.NewModel("line", struct{}{}, newLine)

// This model fits a line to the samples. In a run, a trainer owns its parameters and gradients.
// Here, the example owns parameters and gradients.
func ExampleModel() {
	built, err := linePart.Build([]byte("{}"), sdk.ModelEnv{MaxBatch: 2, Threads: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	model := built.(sdk.Model)
	values := []tensor.Tensor{tensor.New(1), tensor.New(1)}
	gradients := []*tensor.Gradient{{Values: make([]float32, 1)}, {Values: make([]float32, 1)}}
	if err := model.Bind(values, gradients); err != nil {
		fmt.Println(err)
		return
	}
	model.Initialize(1)
	output, err := model.Forward(&sdk.Batch{Features: []float32{2, 3}, Targets: []int64{0, 0}})
	fmt.Println("output", output.Data, err)
	up := tensor.Tensor{Shape: []int{2, 1}, Data: []float32{1, 10}}
	err = model.Backward(up, func(parameter int) {
		fmt.Println("gradient of", model.Parameters()[parameter].Name, gradients[parameter].Values)
	})
	fmt.Println(err)
	// Output:
	// output [2 3] <nil>
	// gradient of offset [11]
	// gradient of slope [32]
	// <nil>
}
