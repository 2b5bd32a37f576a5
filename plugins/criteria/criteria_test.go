package criteria

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

func TestParts(t *testing.T) {
	var keys []string
	for _, p := range Parts() {
		if p.Kind != sdk.KindCriterion {
			t.Errorf("part %s is of kind %s", p.Key, p.Kind)
		}
		keys = append(keys, p.Key)
	}
	if d := cmp.Diff([]string{"bce", "cel", "l1", "mse", "nll"}, keys); d != "" {
		t.Error(d)
	}
}

func TestAllocatesNothing(t *testing.T) {
	for name, c := range criteriaByKey(t) {
		output, gradient, targets := tensor.New(4, 1), tensor.New(4, 1), make([]int64, 4)
		if n := testing.AllocsPerRun(20, func() {
			forward(t, c, output, targets)
			if err := c.Backward(gradient); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("a batch of %s makes %g allocations, want none", name, n)
		}
		floats, ok := c.(sdk.FloatCriterion)
		if !ok {
			continue
		}
		numbers := []float32{1, 1, 1, 1}
		if n := testing.AllocsPerRun(20, func() {
			if _, err := floats.ForwardFloats(output, numbers); err != nil {
				t.Fatal(err)
			}
			if err := c.Backward(gradient); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("a batch of %s with numbers as targets makes %g allocations, want none", name, n)
		}
	}
}

// Every criterion refuses input that no criterion can accept.
func TestErrorsOfAll(t *testing.T) {
	for name, c := range criteriaByKey(t) {
		if err := c.Backward(tensor.New(1, 1)); err == nil ||
			!strings.Contains(err.Error(), "cannot go backward before it went forward") {
			t.Errorf("%s: backward without a forward gives %v", name, err)
		}
		for _, bad := range []struct {
			output  tensor.Tensor
			targets []int64
			want    string
		}{
			{tensor.New(0, 1), nil, "a batch has 0 targets"},
			{tensor.New(1, 1), []int64{0, 0}, "the output has shape [1 1] but"},
			{tensor.New(1), []int64{0}, "the output has shape [1] but"},
			{tensor.Tensor{Shape: []int{1, 1}}, []int64{0}, "output: a tensor of shape [1 1] needs 1 elements"},
		} {
			if _, err := c.Forward(bad.output, bad.targets); err == nil || !strings.Contains(err.Error(), bad.want) {
				t.Errorf("%s: output %v with targets %v gives %v, want %q", name, bad.output.Shape, bad.targets, err,
					bad.want)
			}
		}
		forward(t, c, tensor.New(2, 1), []int64{0, 0})
		for _, room := range []tensor.Tensor{tensor.New(1, 2), tensor.New(2),
			{Shape: []int{2, 1}, Data: make([]float32, 1)}} {
			if err := c.Backward(room); err == nil || !strings.Contains(err.Error(), "but the output had shape [2 1]") {
				t.Errorf("%s: room of shape %v gives %v", name, room.Shape, err)
			}
		}
	}
}

func TestErrorsOfTargets(t *testing.T) {
	criteria := criteriaByKey(t)
	for _, bad := range []struct {
		criterion string
		output    tensor.Tensor
		targets   []int64
		want      string
	}{
		{"cel", tensor.New(2, 3), []int64{0, 3}, "target 1 of the batch is class 3 but there are classes 0 to 2"},
		{"cel", tensor.New(2, 1), []int64{0, 1},
			"target 1 of the batch is class 1 but the output has one column, for class 0 alone: a model that ends in one logit needs criterion bce"},
		{"cel", tensor.New(2, 3), []int64{-1, 0}, "target 0 of the batch is class -1"},
		{"nll", tensor.New(2, 3), []int64{0, 3}, "target 1 of the batch is class 3 but there are classes 0 to 2"},
		{"bce", tensor.New(2, 1), []int64{1, 2}, "target 1 of the batch is 2 but bce needs 0 or 1"},
		{"bce", tensor.New(2, 1), []int64{-1, 1}, "target 0 of the batch is -1 but bce needs 0 or 1"},
		{"bce", tensor.New(2, 2), []int64{0, 1},
			"the output has shape [2 2] but bce needs [2, 1], one logit for each target: the model must end in one output"},
	} {
		t.Run(bad.criterion, func(t *testing.T) {
			if _, err := criteria[bad.criterion].Forward(bad.output, bad.targets); err == nil ||
				!strings.Contains(err.Error(), bad.want) {
				t.Errorf("%s: output %v with targets %v gives %v, want %q", bad.criterion, bad.output.Shape,
					bad.targets, err, bad.want)
			}
		})
	}
}

func TestErrorsOfFloatTargets(t *testing.T) {
	criteria, nan := criteriaByKey(t), float32(math.NaN())
	for _, bad := range []struct {
		criterion string
		output    tensor.Tensor
		targets   []float32
		want      string
	}{
		{"mse", tensor.New(2, 1), nil, "a batch has 0 targets"},
		{"mse", tensor.New(2), []float32{1, 2}, "the output has shape [2] but must be [rows, columns]"},
		{"mse", tensor.New(2, 1), []float32{1, 2, 3}, "the output has 2 rows but the batch has 3 numbers as targets"},
		{"l1", tensor.New(2, 3), []float32{1, 2}, "the output has 3 columns but a row of the batch has 1 targets"},
		{"l1", tensor.New(2, 1), []float32{1, nan}, "row 1 of the batch: target NaN is not finite"},
		{"bce", tensor.New(2, 1), []float32{1, 1.5}, "row 1 of the batch: target 1.5 is not from 0 to 1"},
		{"cel", tensor.New(2, 2), []float32{0.5, 0.5, 0.5, 0.25}, "row 1 of the batch: the targets add up to 0.75"},
		{"mse", tensor.Tensor{Shape: []int{1, 1}}, []float32{1}, "output: a tensor of shape [1 1] needs 1 elements"},
	} {
		t.Run(bad.criterion, func(t *testing.T) {
			if _, err := criteria[bad.criterion].(sdk.FloatCriterion).ForwardFloats(bad.output,
				bad.targets); err == nil || !strings.Contains(err.Error(), bad.want) {
				t.Errorf("%s: output %v with targets %v gives %v, want %q", bad.criterion, bad.output.Shape,
					bad.targets, err, bad.want)
			}
		})
	}
}

// A NaN in the output must show in the loss, not vanish in the average.
func TestNaN(t *testing.T) {
	for name, c := range criteriaByKey(t) {
		output, gradient := tensor.New(2, 1), tensor.New(2, 1)
		output.Data[1] = float32(math.NaN())
		if loss := forward(t, c, output, []int64{0, 0}); !math.IsNaN(loss) {
			t.Errorf("%s: the loss is %v", name, loss)
		}
		if err := c.Backward(gradient); err != nil {
			t.Fatal(err)
		}
		if name != "nll" && !math.IsNaN(float64(gradient.Data[1])) { // the gradient of nll does not depend on the output
			t.Errorf("%s: the gradient is %v", name, gradient.Data)
		}
	}
}

// A sample that the model classifies with certainty has almost no loss, but still a gradient.
func TestBinaryCrossEntropyOfSureSamples(t *testing.T) {
	c, gradient := criteriaByKey(t)["bce"], tensor.New(1, 1)
	for _, target := range []int64{0, 1} {
		t.Run(fmt.Sprint(target), func(t *testing.T) {
			x := float32(2*target-1) * 60
			output := tensor.Tensor{Shape: []int{1, 1}, Data: []float32{x}}
			want := math.Exp(-60) // the gradient has about the same size
			if loss := forward(t, c, output, []int64{target}); math.Abs(loss-want) > 1e-6*want {
				t.Errorf("target %d: the loss of a logit of %g is %g, want %g", target, x, loss, want)
			}
			if err := c.Backward(gradient); err != nil {
				t.Fatal(err)
			}
			got := float64(gradient.Data[0]) * float64(1-2*target)
			if math.Abs(got-want) > 1e-6*want {
				t.Errorf("target %d: the gradient of a logit of %g is %g", target, x, gradient.Data[0])
			}
		})
	}
}
