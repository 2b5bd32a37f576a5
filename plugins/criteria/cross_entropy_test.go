package criteria

import (
	"strconv"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

func newCriterion(t *testing.T, maxBatch int) sdk.Criterion {
	t.Helper()
	c, err := NewCrossEntropy(struct{}{}, sdk.CriterionEnv{MaxBatch: maxBatch, Engine: engine.Host})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// input returns a batch of 6 rows over 37 classes in [-scale, scale).
func input(scale float32) (tensor.Tensor, []int64) {
	output, targets := tensor.New(6, 37), make([]int64, 6)
	splitmix.Uniform(11, 0, output.Data, scale)
	for i := range targets {
		targets[i] = int64(i * 7 % 37)
	}
	return output, targets
}

func TestShortBatchAfterFullOne(t *testing.T) {
	output, targets := input(1)
	criterion := newCriterion(t, 6)
	if _, err := criterion.Forward(output, targets); err != nil {
		t.Fatal(err)
	}
	first := tensor.Tensor{Shape: []int{1, 37}, Data: output.Data[:37]}
	loss, err := criterion.Forward(first, targets[:1])
	if err != nil {
		t.Fatal(err)
	}
	alone, err := newCriterion(t, 1).Forward(first, targets[:1])
	if err != nil || loss != alone {
		t.Errorf("after a full batch the loss of one sample is %g, alone %g (%v)", loss, alone, err)
	}
	if err := criterion.Backward(tensor.New(1, 37)); err != nil {
		t.Error(err)
	}
	if err := criterion.Backward(tensor.New(6, 37)); err == nil {
		t.Error("a gradient of 6 rows was accepted for a batch of 1")
	}
}

// Data parts that form their own batches may exceed the run's batch size.
func TestBatchBeyondTheRunsSize(t *testing.T) {
	output, targets := input(1)
	want, err := newCriterion(t, 6).Forward(output, targets)
	if err != nil {
		t.Fatal(err)
	}
	criterion := newCriterion(t, 2)
	wide := tensor.New(2, 37*6) // the same number of exponentials, but fewer rows
	for i, c := range []struct {
		output  tensor.Tensor
		targets []int64
	}{{wide, targets[:2]}, {output, targets}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			got, err := criterion.Forward(c.output, c.targets)
			if err != nil {
				t.Fatal(err)
			}
			if err := criterion.Backward(tensor.New(c.output.Shape...)); err != nil {
				t.Fatal(err)
			}
			if len(c.targets) == 6 && got != want {
				t.Errorf("the loss of a larger batch is %g, want %g", got, want)
			}
		})
	}
}
