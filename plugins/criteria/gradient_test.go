package criteria

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugintest/gradcheck"
)

// cel computes its exponentials in float32; the others compute in float64.
func TestGradientsMatchFiniteDifferences(t *testing.T) {
	for name, c := range criteriaByKey(t) {
		tolerance := 2e-6
		if name == "cel" {
			tolerance = 1e-5
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				rows, columns := rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(1, 5).Draw(t, "columns")
				classes := columns
				if name == "bce" {
					columns, classes = 1, 2
				}
				output := tensor.Tensor{Shape: []int{rows, columns}, Data: gradcheck.OffZero(t, "output", rows*columns)}
				targets := make([]int64, rows)
				for i := range targets {
					targets[i] = int64(rapid.IntRange(0, classes-1).Draw(t, "target"))
				}
				if name == "l1" { // l1 has a kink at the target
					for i := range output.Data {
						output.Data[i] += float32(targets[i/columns])
					}
				}
				loss := func() float64 { return forward(t, c, output, targets) }
				loss()
				gradient := tensor.New(rows, columns)
				for i := range gradient.Data {
					gradient.Data[i] = 9 // Backward must overwrite it
				}
				if err := c.Backward(gradient); err != nil {
					t.Fatal(err)
				}
				gradcheck.Check(t, name, loss, output.Data, gradient.Data, tolerance)
			})
		})
	}
}

// Targets are numbers here: any numbers, numbers from 0 to 1, or probabilities.
func TestGradientsOfFloatTargetsMatchFiniteDifferences(t *testing.T) {
	criteria := criteriaByKey(t)
	for name, tolerance := range map[string]float64{"bce": 2e-6, "cel": 1e-5, "l1": 2e-6, "mse": 2e-6} {
		t.Run(name, func(t *testing.T) {
			c := criteria[name].(sdk.FloatCriterion)
			rapid.Check(t, func(t *rapid.T) {
				rows, columns := rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(1, 5).Draw(t, "columns")
				output := tensor.Tensor{Shape: []int{rows, columns}, Data: gradcheck.OffZero(t, "output", rows*columns)}
				targets := rapid.SliceOfN(rapid.Float32Range(0, 1), rows*columns, rows*columns).Draw(t, "targets")
				for i := range targets {
					switch name {
					case "mse", "l1":
						targets[i] = 8*targets[i] - 4
					case "cel":
						targets[i] = 1 / float32(columns) // the targets' sum is 1
					}
					if name == "l1" { // l1 has a kink at the target
						output.Data[i] += targets[i]
					}
				}
				if name == "cel" && columns > 1 {
					targets[0], targets[1] = targets[0]/2, targets[1]+targets[0]/2
				}
				loss := func() float64 {
					v, err := c.ForwardFloats(output, targets)
					if err != nil {
						t.Fatal(err)
					}
					return v
				}
				loss()
				gradient := tensor.New(rows, columns)
				if err := c.Backward(gradient); err != nil {
					t.Fatal(err)
				}
				gradcheck.Check(t, name, loss, output.Data, gradient.Data, tolerance)
			})
		})
	}
}

func forward(t interface{ Fatal(...any) }, c sdk.Criterion, output tensor.Tensor, targets []int64) float64 {
	loss, err := c.Forward(output, targets)
	if err != nil {
		t.Fatal(err)
	}
	return loss
}
