package optimizer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
)

// Values of torch.optim.SGD([1, 2], lr=0.5, momentum=0.5) with the gradients
// [2, 0], then [0, 4]; a row that a sparse gradient leaves out keeps moving.
func TestSGDWithMomentum(t *testing.T) {
	dense := comm.Tensor{Shape: []int{2}, Data: []float32{1, 2}}
	table := comm.Tensor{Shape: []int{2, 1}, Data: []float32{1, 2}}
	g := &comm.Gradient{Values: []float32{2, 0}}
	rows := &comm.Gradient{Rows: []int32{0}, Width: 1, Values: []float32{2}}
	s := SGD{LR: 0.5, Momentum: 0.5, Values: []comm.Tensor{dense, table}, Gradients: []*comm.Gradient{g, rows}}
	s.Reset()
	s.Step()
	copy(g.Values, []float32{0, 4})
	rows.Rows[0], rows.Values[0] = 1, 4
	s.Step()
	for name, got := range map[string][]float32{"dense": dense.Data, "sparse": table.Data} {
		if d := cmp.Diff([]float32{-0.5, 0}, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	s.Reset()
	s.Step()
	if d := cmp.Diff([]float32{-0.5, -2}, dense.Data); d != "" {
		t.Errorf("reset keeps a velocity: %s", d)
	}
}

func TestSGD(t *testing.T) {
	dense := comm.Tensor{Shape: []int{3}, Data: []float32{1, 2, 3}}
	table := comm.Tensor{Shape: []int{3, 2}, Data: []float32{1, 2, 3, 4, 5, 6}}
	s := SGD{LR: 0.5, Values: []comm.Tensor{dense, table}, Gradients: []*comm.Gradient{
		{Values: []float32{2, 0, -4}},
		{Rows: []int32{0, 2}, Width: 2, Values: []float32{2, 4, 6, 8}},
	}}
	s.Step()
	if d := cmp.Diff([]float32{0, 2, 5}, dense.Data); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]float32{0, 0, 3, 4, 2, 2}, table.Data); d != "" {
		t.Error(d)
	}
}
