package criteria

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// goldenCase is one batch with the results that PyTorch computed in float64, by plugins/testdata/golden.py. Some of
// the outputs are extreme.
type goldenCase struct {
	Criterion     string
	Rows, Columns int
	Targets       []int64
	FloatTargets  []float32
	Output        []float32
	Loss          float64
	Gradient      []float64
}

func goldenCases(t *testing.T) []goldenCase {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// criteriaByKey builds every criterion of this package for batches of 4.
func criteriaByKey(t testing.TB) map[string]sdk.Criterion {
	t.Helper()
	all := map[string]sdk.Criterion{}
	for key, build := range map[string]func(struct{}, sdk.CriterionEnv) (sdk.Criterion, error){
		"bce": NewBinaryCrossEntropy, "cel": NewCrossEntropy, "l1": NewL1, "mse": NewMeanSquaredError,
		"nll": NewNegativeLogLikelihood,
	} {
		c, err := build(struct{}{}, sdk.CriterionEnv{MaxBatch: 4, Engine: engine.Host})
		if err != nil {
			t.Fatal(err)
		}
		all[key] = c
	}
	if len(all) != len(Parts()) {
		t.Fatalf("there are %d criteria here and %d parts", len(all), len(Parts()))
	}
	return all
}

// The tolerance is 1e-6 of the loss, and of the largest gradient. This is a few float32 roundings.
func TestCriteriaMatchPyTorch(t *testing.T) {
	seen := map[string]int{}
	criteria := criteriaByKey(t)
	for i, g := range goldenCases(t) {
		name := fmt.Sprintf("case %d, %s of [%d %d]", i, g.Criterion, g.Rows, g.Columns)
		c, gradient := criteria[g.Criterion], tensor.New(g.Rows, g.Columns)
		seen[g.Criterion]++
		b := sdk.Batch{Targets: g.Targets, FloatTargets: g.FloatTargets}
		if len(g.FloatTargets) > 0 {
			b.TargetWidth = g.Columns
			seen[g.Criterion+" of numbers"]++
		}
		loss, err := sdk.Loss(c, tensor.Tensor{Shape: gradient.Shape, Data: g.Output}, &b)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(loss-g.Loss) <= 1e-6*math.Abs(g.Loss)) {
			t.Errorf("%s: the loss is %.9g, in PyTorch %.9g", name, loss, g.Loss)
		}
		if err := c.Backward(gradient); err != nil {
			t.Fatal(err)
		}
		var largest float64
		for _, v := range g.Gradient {
			largest = max(largest, math.Abs(v))
		}
		for j, want := range g.Gradient {
			if got := float64(gradient.Data[j]); !(math.Abs(got-want) <= 1e-6*largest) {
				t.Errorf("%s: gradient %d is %.9g, in PyTorch %.9g", name, j, got, want)
			}
		}
	}
	if len(seen) != len(criteria)+4 {
		t.Errorf("there are cases of %v alone", seen)
	}
}
