package criteria

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm/tensor"
)

// If an output equals its target, PyTorch defines the derivative as 0.
func TestL1(t *testing.T) {
	c := criteriaByKey(t)["l1"]
	output := tensor.Tensor{Shape: []int{2, 3}, Data: []float32{1, -2, 0, 3, 2, -0.5}}
	loss, err := c.Forward(output, []int64{0, 2})
	if want := (1 + 2 + 0 + 1 + 0 + 2.5) / 6; err != nil || loss != want {
		t.Errorf("the loss is %v (%v), want %v", loss, err, want)
	}
	gradient := tensor.New(2, 3)
	gradient.Data[2], gradient.Data[4] = 7, 7 // Backward must overwrite it
	if err := c.Backward(gradient); err != nil {
		t.Fatal(err)
	}
	const g = float32(1) / 6
	if d := cmp.Diff([]float32{g, -g, 0, g, 0, -g}, gradient.Data); d != "" {
		t.Error(d)
	}
}
