package view

import (
	"fmt"
	"math"
	"testing"
)

// trained is a document of runs of so many epochs each, whose best ones are 500 by the loss and 700 by the AUC;
// after one of them there is no AUC that is finite.
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

// Of too many epochs those that are left keep their numbers, and the best and the last are among them.
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
	if want := "of the epochs of a run there are one of 3, the last, and the best by each measure"; m.doc.Sampling !=
		want {
		t.Errorf("%s, not %s", m.doc.Sampling, want)
	}
}

// What is kept beside one of so many is within the bound, too, as long as a run has more than that.
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
