package criteria

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

func newL1(t testing.TB) sdk.Criterion {
	t.Helper()
	c, err := NewL1(struct{}{}, sdk.CriterionEnv{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Values of torch.nn.functional.l1_loss.
func TestL1(t *testing.T) {
	c := newL1(t)
	output := comm.Tensor{Shape: []int{2, 3}, Data: []float32{1, -2, 0, 3, 2, -0.5}}
	loss, err := c.Forward(output, []int64{0, 2})
	if want := (1 + 2 + 0 + 1 + 0 + 2.5) / 6; err != nil || loss != want {
		t.Errorf("the loss is %v (%v), want %v", loss, err, want)
	}
	gradient := comm.NewTensor(2, 3)
	gradient.Data[2], gradient.Data[4] = 7, 7 // is overwritten
	if err := c.Backward(gradient); err != nil {
		t.Fatal(err)
	}
	const g = float32(1) / 6
	if d := cmp.Diff([]float32{g, -g, 0, g, 0, -g}, gradient.Data); d != "" {
		t.Error(d)
	}
	output.Data[1] = float32(math.NaN())
	loss, err = c.Forward(output, []int64{0, 0})
	if err != nil || !math.IsNaN(loss) || c.Backward(gradient) != nil || gradient.Data[1] == gradient.Data[1] {
		t.Errorf("an output of NaN gives the loss %v and the gradient %v (%v)", loss, gradient.Data, err)
	}
}

func TestL1GradientMatchesFiniteDifferences(t *testing.T) {
	c := newL1(t)
	rapid.Check(t, func(t *rapid.T) {
		rows, columns := rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(1, 4).Draw(t, "columns")
		output, gradient, targets := comm.NewTensor(rows, columns), comm.NewTensor(rows, columns), make([]int64, rows)
		for i := range targets {
			targets[i] = rapid.Int64Range(0, 2).Draw(t, "target")
		}
		for i := range output.Data { // never within a step of a target
			output.Data[i] = float32(rapid.IntRange(-4, 4).Draw(t, "whole")) + 0.5
		}
		loss := func() float64 {
			l, err := c.Forward(output, targets)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		loss()
		if err := c.Backward(gradient); err != nil {
			t.Fatal(err)
		}
		for i, at := range output.Data {
			const step = 0.25
			output.Data[i] = at + step
			above := loss()
			output.Data[i] = at - step
			below := loss()
			output.Data[i] = at
			if want := (above - below) / (2 * step); math.Abs(float64(gradient.Data[i])-want) > 1e-6 {
				t.Fatalf("element %d: gradient is %g, the loss rises by %g", i, gradient.Data[i], want)
			}
		}
	})
}

func TestL1Errors(t *testing.T) {
	c := newL1(t)
	if err := c.Backward(comm.NewTensor(1, 3)); err == nil {
		t.Error("backward went on without a forward")
	}
	if _, err := c.Forward(comm.NewTensor(1, 3), []int64{0, 0}); err == nil || !strings.Contains(err.Error(), "must be [2, classes]") {
		t.Errorf("two targets for one row give %v", err)
	}
	if _, err := c.Forward(comm.NewTensor(1, 3), []int64{0}); err != nil {
		t.Fatal(err)
	}
	if err := c.Backward(comm.NewTensor(3, 1)); err == nil || !strings.Contains(err.Error(), "has shape [3 1]") {
		t.Errorf("room of another shape gives %v", err)
	}
}

func TestL1AllocatesNothing(t *testing.T) {
	c, output, gradient, targets := newL1(t), comm.NewTensor(20, 30), comm.NewTensor(20, 30), make([]int64, 20)
	allocs := testing.AllocsPerRun(20, func() {
		if _, err := c.Forward(output, targets); err != nil {
			t.Fatal(err)
		}
		if err := c.Backward(gradient); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("a batch makes %g allocations, want none", allocs)
	}
}
