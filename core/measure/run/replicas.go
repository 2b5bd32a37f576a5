package run

import (
	"fmt"

	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/sdk"
)

// replicas reports whether trainers that exchange gradients ended the pass with equal parameters. It returns
// nil for a single trainer, or if a trainer's contract is too old to report checksums.
func (r *run) replicas() *result.Replicas {
	checksums := make([][]uint32, len(r.processes.trainers))
	for i, t := range r.processes.trainers {
		for q := range pieces[*record.Replica](&t.collected) {
			checksums[i] = q.Checksums
		}
		if checksums[i] == nil || len(checksums) < 2 {
			return nil
		}
	}
	sets, differ := r.e.Replicas()
	found := &result.Replicas{Sets: sets, MayDiffer: differ}
	for _, set := range sets {
		for _, rank := range set[1:] {
			if d := r.unequal(checksums, set[0], rank); d != nil {
				found.Unequal = append(found.Unequal, *d)
			}
		}
	}
	return found
}

// unequal counts the parameters in which a trainer differs from the first trainer of its set. It also names the first
// such parameter. It returns nil if all parameters are equal.
func (r *run) unequal(checksums [][]uint32, first, rank int) *result.UnequalReplica {
	a, b := checksums[first], checksums[rank]
	d := &result.UnequalReplica{Rank: rank, From: first, Of: len(a)}
	for k := range a {
		if k < len(b) && a[k] == b[k] {
			continue
		}
		if d.Parameters++; d.Parameters == 1 && k < len(r.model.Parameters) {
			d.Parameter = r.model.Parameters[k].Name
		}
	}
	if d.Parameters == 0 {
		return nil
	}
	return d
}

// warnReplicas warns of trainers that differ although they must be equal.
func (r *run) warnReplicas(found *result.Replicas) {
	if found == nil || len(found.Unequal) == 0 {
		return
	}
	d, others := found.Unequal[0], ""
	if n := len(found.Unequal) - 1; n > 0 {
		others = " (so do those of " + screen.Count(n, "other trainer") + ")"
	}
	r.result.Warnings = append(r.result.Warnings, fmt.Sprintf(
		"the replicas ended unequal: %d of %s of %s, first %s, differ from those of %s%s, though hook %s exchanges gradients between them. Either it does not reduce every bucket, or the model starts from other values on each trainer. If this is meant, declare it (sdk.RanksDiffer, in Python ranks_differ = True)",
		d.Parameters, screen.Count(d.Of, "parameter"), r.e.World.Name(d.Rank), quote.Word(d.Parameter),
		r.e.World.Name(d.From), others, r.e.Parts[sdk.KindHook].Key))
}

// arrivalOrder explains why the result depends on the order in which gradients arrive. It returns "" if the order does
// not matter.
func (r *run) arrivalOrder() string {
	pushers := 0
	for _, s := range r.processes.servers {
		if !r.e.World.CUDA(s.rank) { // a server on a device adds in the order of the ranks
			pushers = max(pushers, len(cluster.FirstOf(r.together(s))))
		}
	}
	if why := r.e.ArrivalOrder(pushers); why != "" {
		return "the loss depends on the order of arrival: " + why
	}
	return ""
}
