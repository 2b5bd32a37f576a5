package criteria

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
)

func newCriterion(t *testing.T, maxBatch int) sdk.Criterion {
	t.Helper()
	c, err := NewCrossEntropy(struct{}{}, sdk.CriterionEnv{MaxBatch: maxBatch})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// input is a batch of 6 rows over 37 classes in [-scale, scale).
func input(scale float32) (comm.Tensor, []int64) {
	output, targets := comm.NewTensor(6, 37), make([]int64, 6)
	splitmix.Uniform(11, 0, output.Data, scale)
	for i := range targets {
		targets[i] = int64(i * 7 % 37)
	}
	return output, targets
}

func TestCrossEntropyMatchesPyTorch(t *testing.T) {
	for _, c := range []struct {
		scale float32
		loss  float64 // of torch.nn.functional.cross_entropy, in float32
		head  []float64
		sumsq float64 // of the gradient, in float64
	}{
		{1, 3.417529821395874, []float64{-0.1626660023518441, 0.002586887844964833, 0.0036126457577211443}, 0.16065697760215025},
		{50, 32.18928909301758, []float64{-0.16666666666666666, 5.856781016583565e-32, 1.0472432870327833e-24}, 0.27911786376978526},
	} {
		output, targets := input(c.scale)
		criterion := newCriterion(t, 6)
		loss, err := criterion.Forward(output, targets)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(loss-c.loss) > 5e-7*c.loss {
			t.Errorf("scale %g: loss is %.9g, PyTorch has %.9g", c.scale, loss, c.loss)
		}
		gradient := comm.NewTensor(6, 37)
		if err := criterion.Backward(gradient); err != nil {
			t.Fatal(err)
		}
		var sumsq float64
		for i, g := range gradient.Data {
			sumsq += float64(g) * float64(g)
			if i < len(c.head) && math.Abs(float64(g)-c.head[i]) > 2e-8 {
				t.Errorf("scale %g: gradient %d is %g, PyTorch has %g", c.scale, i, g, c.head[i])
			}
		}
		if math.Abs(sumsq-c.sumsq) > 1e-6*c.sumsq {
			t.Errorf("scale %g: the gradient's squares add up to %g, in PyTorch to %g", c.scale, sumsq, c.sumsq)
		}
	}
}

func TestShortBatchAfterFullOne(t *testing.T) {
	output, targets := input(1)
	criterion := newCriterion(t, 6)
	if _, err := criterion.Forward(output, targets); err != nil {
		t.Fatal(err)
	}
	first := comm.Tensor{Shape: []int{1, 37}, Data: output.Data[:37]}
	loss, err := criterion.Forward(first, targets[:1])
	if err != nil {
		t.Fatal(err)
	}
	alone, err := newCriterion(t, 1).Forward(first, targets[:1])
	if err != nil || loss != alone {
		t.Errorf("after a full batch the loss of one sample is %g, alone %g (%v)", loss, alone, err)
	}
	if err := criterion.Backward(comm.NewTensor(1, 37)); err != nil {
		t.Error(err)
	}
	if err := criterion.Backward(comm.NewTensor(6, 37)); err == nil {
		t.Error("a gradient of 6 rows was accepted for a batch of 1")
	}
}

func TestAllocatesNothing(t *testing.T) {
	output, targets := input(1)
	criterion, gradient := newCriterion(t, 6), comm.NewTensor(6, 37)
	allocs := testing.AllocsPerRun(20, func() {
		if _, err := criterion.Forward(output, targets); err != nil {
			t.Fatal(err)
		}
		if err := criterion.Backward(gradient); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("a batch makes %g allocations, want none", allocs)
	}
}

func TestErrors(t *testing.T) {
	criterion := newCriterion(t, 2)
	for _, c := range []struct {
		output  comm.Tensor
		targets []int64
		want    string
	}{
		{comm.NewTensor(0, 3), nil, "a batch has 0 targets"},
		{comm.NewTensor(1, 3), []int64{0, 0}, "the output has shape [1 3] but must be [2, classes]"},
		{comm.NewTensor(3), []int64{0}, "the output has shape [3]"},
		{comm.Tensor{Shape: []int{1, 3}}, []int64{0}, "output: a tensor of shape [1 3] needs 3 elements"},
		{comm.NewTensor(2, 3), []int64{0, 3}, "target 1 of the batch is class 3 but there are classes 0 to 2"},
		{comm.NewTensor(2, 3), []int64{-1, 0}, "target 0 of the batch is class -1"},
	} {
		if _, err := criterion.Forward(c.output, c.targets); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("output %v with targets %v gives %v, want an error with %q", c.output.Shape, c.targets, err, c.want)
		}
	}
	if err := criterion.Backward(comm.NewTensor(1, 3)); err == nil {
		t.Error("backward went on without a forward")
	}
}

// Data that cuts its own batches may have larger ones than the run's batch size.
func TestBatchBeyondTheRunsSize(t *testing.T) {
	output, targets := input(1)
	want, err := newCriterion(t, 6).Forward(output, targets)
	if err != nil {
		t.Fatal(err)
	}
	criterion := newCriterion(t, 2)
	wide := comm.NewTensor(2, 37*6) // room for as many exponentials, but for fewer rows
	for _, c := range []struct {
		output  comm.Tensor
		targets []int64
	}{{wide, targets[:2]}, {output, targets}} {
		got, err := criterion.Forward(c.output, c.targets)
		if err != nil {
			t.Fatal(err)
		}
		if err := criterion.Backward(comm.NewTensor(c.output.Shape...)); err != nil {
			t.Fatal(err)
		}
		if len(c.targets) == 6 && got != want {
			t.Errorf("the loss of a larger batch is %g, want %g", got, want)
		}
	}
}

func TestParts(t *testing.T) {
	var keys []string
	for _, p := range Parts() {
		if p.Kind != sdk.KindCriterion {
			t.Errorf("part %s is of kind %s", p.Key, p.Kind)
		}
		keys = append(keys, p.Key)
	}
	if d := cmp.Diff([]string{"cel", "l1"}, keys); d != "" {
		t.Error(d)
	}
}
