package run

import (
	"strconv"

	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/sdk/host/convert"
	"github.com/psbench/psbench/sdk/host/inspect"
)

// NonFinite is what a process found, and the same as a sentence.
type nonFinite struct {
	result.NonFinite
	text string
}

// NonFinite is what the processes found of values that are not finite, in the order of
// the processes.
func (r *run) nonFinite() (found []nonFinite) {
	for _, s := range r.processes.all {
		for _, reply := range s.collected.replies {
			q := reply.GetNonFinite()
			if q == nil {
				continue
			}
			f := result.NonFinite{Rank: s.rank, Losses: q.GetLosses(), Parameter: q.GetParameter(), Gradient: q.GetGradient()}
			if f.Losses > 0 {
				f.Epoch, f.Batch = q.GetEpoch(), q.GetBatch()
				f.Loss = strconv.FormatFloat(q.GetLoss(), 'g', -1, 64)
			}
			found = append(found, nonFinite{f, inspect.Describe(s.Name, convert.NonFinite(q))})
		}
	}
	return found
}
