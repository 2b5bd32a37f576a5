package view

import (
	"fmt"
	"maps"
	"strings"

	"github.com/psbench/psbench/internal/numeral"
)

// boundEpochs keeps evenly spaced epochs of each run if there are too many. It also keeps the last epoch and the best
// one by each measure.
func (m *maker) boundEpochs() {
	all, longest := 0, 0
	for _, r := range m.doc.Runs {
		all, longest = all+len(r.Epochs), max(longest, len(r.Epochs))
	}
	if all <= allEpochs {
		return
	}
	best := make([]map[int]bool, len(m.doc.Runs))
	for i, r := range m.doc.Runs {
		best[i] = bestOf(r.Epochs)
	}
	by := (all + allEpochs - 1) / allEpochs
	for ; by < longest && m.kept(by, best) > allEpochs; by++ {
	}
	for i := range m.doc.Runs {
		r := &m.doc.Runs[i]
		var kept []Epoch
		for k, e := range r.Epochs {
			if regular(k, len(r.Epochs), by) || best[i][k] {
				kept = append(kept, e)
			}
		}
		r.Epochs = kept
	}
	m.note(fmt.Sprintf("each run shows only one of %d epochs, the last, and the best by each measure", by))
}

// kept returns how many epochs would stay if every by-th one is kept.
func (m *maker) kept(by int, best []map[int]bool) int {
	n := 0
	for i, r := range m.doc.Runs {
		n += (len(r.Epochs) + by - 1) / by
		for k := range best[i] {
			if !regular(k, len(r.Epochs), by) {
				n++
			}
		}
	}
	return n
}

// regular reports whether the distance from epoch k to the last epoch is a multiple of by.
func regular(k, epochs, by int) bool { return (epochs-1-k)%by == 0 }

// bestOf returns the index of the best epoch by each measure. The best value of a loss is the lowest; for other
// measures it is the highest. Among equal values the first epoch counts.
func bestOf(epochs []Epoch) map[int]bool {
	best := map[string]int{}
	for k, e := range epochs {
		for name, v := range e.Values {
			if v == nil || !numeral.Finite(*v) {
				continue
			}
			at, ok := best[name]
			if !ok || better(name, *v, *epochs[at].Values[name]) {
				best[name] = k
			}
		}
	}
	places := map[int]bool{}
	for k := range maps.Values(best) {
		places[k] = true
	}
	return places
}

func better(measure string, a, b float64) bool {
	if strings.HasSuffix(measure, "loss") {
		return a < b
	}
	return a > b
}
