package run

import (
	"strconv"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/inspect"
	"github.com/psbench/psbench/internal/host/record"
)

// nonFinite is what a process found, and the same as a sentence.
type nonFinite struct {
	result.NonFinite
	text string
}

// nonFinite is what the processes found of values that are not finite, in the order of
// the processes.
func (r *run) nonFinite() (found []nonFinite) {
	for _, s := range r.processes.all {
		for q := range pieces[*record.NonFinite](&s.collected) {
			f := result.NonFinite{Rank: s.rank, Losses: q.Losses, Parameter: q.Parameter, Gradient: q.Gradient}
			if f.Losses > 0 {
				f.Epoch, f.Batch = q.Epoch, q.Batch
				f.Loss = strconv.FormatFloat(q.Loss, 'g', -1, 64)
			}
			found = append(found, nonFinite{f, inspect.Describe(s.Name, q)})
		}
	}
	return found
}
