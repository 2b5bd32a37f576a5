package view

import (
	"fmt"
	"math"
	"testing"
)

// trained returns a document of runs with so many epochs each. Epoch 500 has the best loss and epoch 700 the best
// AUC. One epoch has an infinite AUC.
func trained(runs, epochs int) *maker {
	m := &maker{doc: &Document{}}
	for range runs {
		var list []Epoch
		for k := range epochs {
			loss, auc := math.Abs(float64(k-499)), -math.Abs(float64(k-699))
			if k == 100 {
				auc = math.Inf(1)
			}
			list = append(list,
				Epoch{Number: k + 1, Values: map[string]*float64{"held_out_loss": &loss, "held_out_auc": &auc}})
		}
		m.doc.Runs = append(m.doc.Runs, Run{Epochs: list})
	}
	return m
}

// After too many epochs are thinned out, the remaining ones keep their numbers. The best and the last epoch remain.
func TestEpochsAreBounded(t *testing.T) {
	m := trained(10, 1000)
	m.bound()
	for _, r := range m.doc.Runs {
		numbers := map[int]bool{}
		for i, e := range r.Epochs {
			numbers[e.Number] = true
			if i > 0 && e.Number <= r.Epochs[i-1].Number {
				t.Fatalf("epoch %d comes after %d", e.Number, r.Epochs[i-1].Number)
			}
			if want := math.Abs(float64(e.Number - 500)); *e.Values["held_out_loss"] != want {
				t.Fatalf("epoch %d has the loss %v, not %v", e.Number, *e.Values["held_out_loss"], want)
			}
		}
		if !numbers[500] || !numbers[700] || !numbers[1000] || !numbers[997] || numbers[998] {
			t.Errorf("of the best, the last, and one of three there are %v, %v, %v, %v", numbers[500], numbers[700],
				numbers[1000], numbers[997])
		}
	}
	if want := "each run shows only one of 3 epochs, the last, and the best by each measure"; m.doc.Sampling !=
		want {
		t.Errorf("%s, not %s", m.doc.Sampling, want)
	}
}

// The best and the last epochs count towards the limit. Only if they alone exceed it, the document exceeds it, too.
func TestBoundOfEpochs(t *testing.T) {
	for _, c := range []struct{ runs, epochs, most int }{{1, allEpochs, allEpochs}, {1, 100_000, allEpochs},
		{350, 800, allEpochs}, {1166, 900, allEpochs}, {2000, 1000, 2000 * 3}} {
		t.Run(fmt.Sprint(c.runs), func(t *testing.T) {
			m := trained(c.runs, c.epochs)
			m.bound()
			kept := 0
			for _, r := range m.doc.Runs {
				kept += len(r.Epochs)
			}
			if kept > c.most || (m.doc.Sampling == "") != (kept == c.runs*c.epochs) {
				t.Errorf("%d runs of %d epochs have %d on the page; %s", c.runs, c.epochs, kept, m.doc.Sampling)
			}
		})
	}
}
