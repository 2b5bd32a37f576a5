package optimizer

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// goldenCase holds PyTorch's results for some steps in float64; see plugins/testdata/golden.py.
type goldenCase struct {
	Settings    json.RawMessage
	Sparse      bool
	Rows, Width int
	Start       []float32
	Steps       []struct {
		Gradient []float32
		Rows     []int32 // rows of a sparse gradient
		Values   []float64
	}
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

// The tolerance is 1e-6 relative to the values, or 1e-6 absolute near 0. This tolerance allows some
// float32 roundings.
func TestStepsMatchPyTorch(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range goldenCases(t) {
		name := fmt.Sprintf("%s, sparse %v", c.Settings, c.Sparse)
		s := Defaults(0, 0)
		if err := json.Unmarshal(c.Settings, &s); err != nil {
			t.Fatal(err)
		}
		if err := s.Check(Defaults(0, 0)); err != nil {
			t.Fatal(err)
		}
		seen[fmt.Sprintf("%s %v", s.Optimizer, c.Sparse)] = true
		value := tensor.Tensor{Shape: []int{c.Rows, c.Width}, Data: append([]float32(nil), c.Start...)}
		gradient := &tensor.Gradient{Values: make([]float32, len(c.Start))}
		if c.Sparse {
			gradient.Width = c.Width
		}
		o, err := New(engine.Host, s, []tensor.Tensor{value}, []*tensor.Gradient{gradient})
		if err != nil {
			t.Fatal(err)
		}
		for pass := range 2 { // the second pass starts with no state
			copy(value.Data, c.Start)
			must(t, o.Reset())
			for i, step := range c.Steps {
				gradient.Rows = step.Rows
				gradient.Values = append(gradient.Values[:0], step.Gradient...)
				must(t, o.Step())
				for j, want := range step.Values {
					if got := float64(value.Data[j]); math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
						t.Fatalf("%s: pass %d, step %d: value %d is %.9g, PyTorch has %.9g", name, pass, i, j, got,
							want)
					}
				}
			}
		}
	}
	if len(seen) != 8 {
		t.Errorf("the cases are of %v, want all optimizers with dense and sparse gradients", seen)
	}
}
