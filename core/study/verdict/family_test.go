package verdict

import (
	"testing"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
)

// Two cells that share runs count as one comparison, so they do not change p of the other cells.
func TestSharedRunsCountOnce(t *testing.T) {
	m := modeltest.Throughput(t)
	study := func(values ...string) *model.Study {
		return modeltest.Made([]model.Axis{{Name: "server", Values: values}}, func(v []string) modeltest.Plot {
			if v[0] > "c" {
				return modeltest.Plot{Same: "b"}
			}
			return modeltest.Plot{Throughput: map[string]float64{"a": 1000, "b": 1005, "c": 1010}[v[0]], Noise: 0.01,
				Runs: 10}
		})
	}
	few, many := study("a", "b", "c"), study("a", "b", "c", "d", "e", "f")
	few.Again, many.Again = many.Again, few.Again
	few.Again = many.Again
	for i, row := range TableOf(few, m).Rows {
		if p := TableOf(many, m).Rows[i].Change.Adjusted; p != row.Change.Adjusted {
			t.Errorf("%s: p is %v, and %v with cells of shared runs", row.Cell.Name, row.Change.Adjusted, p)
		}
	}
	if a, b := DuelsOf(few, m, nil), DuelsOf(many, m, nil); len(a.Changes) != len(b.Changes) {
		t.Errorf("%d comparisons, and %d with cells of shared runs", len(a.Changes), len(b.Changes))
	}
	if a, b := Contests(few, m)[0], Contests(many, m)[0]; a.Comparisons != b.Comparisons {
		t.Errorf("%d comparisons, and %d with cells of shared runs", a.Comparisons, b.Comparisons)
	}
}
