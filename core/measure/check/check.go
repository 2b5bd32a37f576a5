// Package check recomputes the results of links and servers from the slices of payloads that the processes of a run
// kept.
package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/checked"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// Run is the recorded work of a training run, which Do checks.
type Run struct {
	Seed    uint64
	Buckets []tensor.BucketSpec
	Names   []string // names of the trainers
	// Servers lists the trainers of each server, by the server's rank.
	Servers map[int][]int
	// Answers is the answer that the servers declare. If it is the mean or the sum, check computes it and asks no
	// server.
	Answers sdk.Answers
	// HookAlone means that the hook reduces only through its server, i.e. among the trainers of that server.
	HookAlone bool
	// Combine asks a server for its answers to several lists of gradients, one answer per list. Each list holds
	// gradients of the same elements. If Combine is nil, the answers of servers are checked only if they are the mean
	// or the sum.
	Combine func(server int, pushed [][][]float32) ([][]float32, error)
	// Kept holds the exchanges of each trainer.
	Kept [][]*record.Exchange
}

// Outcome counts the comparisons and holds the first mismatch.
type Outcome struct {
	Slices     int64 // slices of payloads whose results were compared
	Elements   int64 // elements that were compared
	Iterations int64 // iterations that have such a slice
	Missing    int64 // slices that another member did not keep
	Mismatch   *Mismatch
}

// Mismatch is an element with a wrong value.
type Mismatch struct {
	Bucket, Element int
	Rank            string
	Batch           int64
	Operation, Link string
	Got             string // the wrong value and the right value
}

func (m *Mismatch) Error() string {
	by := m.Operation + " over link " + m.Link
	if m.Link == checked.LinkHook {
		by = "the hook, which declares the " +
			map[string]string{record.Average.String(): "mean", record.AllReduce.String(): "sum"}[m.Operation] + ","
	}
	return fmt.Sprintf("checked: element %d of bucket %d on %s is wrong in iteration %d: %s left %s", m.Element,
		m.Bucket, m.Rank, m.Batch, by, m.Got)
}

// key identifies an operation. All exchanges of the operation have this key.
type key struct {
	link      string
	server    int // rank; -1 for a group
	batch     int64
	bucket    int
	number    int
	operation record.Operation
	edges     bool
}

// operation holds the exchanges of all members that took part in one operation.
type operation struct {
	key
	run     *Run
	spec    *tensor.BucketSpec
	place   checked.Place
	ranks   []int // ranks of the members
	members []*record.Exchange
	answer  []column // the server's answer, or nil until it is known
}

// Do recomputes every operation in the order of iterations and stops at the first mismatch. It returns an error if a
// process sent a slice that it cannot have kept, or if it cannot ask a server.
func (r *Run) Do() (*Outcome, error) {
	out := &Outcome{}
	operations, err := r.operations()
	if err != nil {
		return nil, err
	}
	batches := map[int64]bool{}
	for _, k := range slices.SortedFunc(maps.Keys(operations), before) {
		op := operations[k]
		if op.asks() && r.Combine == nil {
			continue
		}
		if slices.Contains(op.members, nil) {
			out.Missing++
			continue
		}
		elements, mismatch, err := op.compare()
		if err != nil {
			return nil, err
		}
		out.Mismatch = mismatch
		out.Slices += int64(len(op.members))
		out.Elements += int64(elements)
		batches[k.batch] = true
		if mismatch != nil {
			break
		}
	}
	out.Iterations = int64(len(batches))
	return out, nil
}

// operations groups the exchanges of all trainers by operation.
func (r *Run) operations() (map[key]*operation, error) {
	serverOf := map[int]int{}
	for server, trainers := range r.Servers {
		for _, t := range trainers {
			serverOf[t] = server
		}
	}
	all := make([]int, len(r.Names))
	for i := range all {
		all[i] = i
	}
	operations := map[key]*operation{}
	for rank, kept := range r.Kept {
		for _, x := range kept {
			if x.Bucket < 0 || x.Bucket >= len(r.Buckets) {
				return nil, fmt.Errorf("%s kept an exchange of bucket %d, but there are %d", r.Names[rank], x.Bucket,
					len(r.Buckets))
			}
			k := key{x.Link, -1, x.Batch, x.Bucket, x.Number, x.Operation, x.Edges}
			ranks := all
			if x.Link == string(sdk.LinkServer) || x.Link == checked.LinkHook && r.HookAlone {
				k.server = serverOf[rank]
				ranks = r.Servers[k.server]
			}
			op := operations[k]
			if op == nil {
				op = &operation{key: k, run: r, spec: &r.Buckets[x.Bucket], ranks: ranks,
					members: make([]*record.Exchange, len(ranks))}
				op.place = checked.PlaceOf(r.Seed, x.Batch, op.spec, x.Operation, len(ranks), x.Edges)
				operations[k] = op
			}
			if err := op.put(rank, x); err != nil {
				return nil, err
			}
		}
	}
	return operations, nil
}

// put adds the exchange of one member.
func (op *operation) put(rank int, x *record.Exchange) error {
	at := slices.Index(op.ranks, rank)
	switch {
	case at < 0, op.members[max(at, 0)] != nil:
		return fmt.Errorf("%s kept an exchange in which it took no part, of bucket %d in iteration %d",
			op.run.Names[rank], x.Bucket, x.Batch)
	case x.Operation == record.Broadcast && (x.Root < 0 || x.Root >= len(op.ranks)):
		return fmt.Errorf("%s kept a broadcast from member %d of %d", op.run.Names[rank], x.Root, len(op.ranks))
	}
	for _, s := range []*record.Slice{&x.Sent, &x.Got} {
		if !op.place.Fits(s) {
			return fmt.Errorf("%s kept an impossible slice, of bucket %d in iteration %d", op.run.Names[rank],
				x.Bucket, x.Batch)
		}
	}
	op.members[at] = x
	return nil
}

// factor returns the factor that turns the sum of the members into the result.
func (op *operation) factor() float64 {
	if op.operation == record.Average || op.operation == record.PushPull && op.run.Answers == sdk.AnswersMean {
		return 1 / float64(len(op.members))
	}
	return 1
}

// asks reports whether only the server can compute the right answer.
func (op *operation) asks() bool {
	return op.operation == record.PushPull && op.run.Answers != sdk.AnswersMean && op.run.Answers != sdk.AnswersSum
}

func before(a, b key) int {
	for _, c := range []int64{
		a.batch - b.batch, int64(a.bucket - b.bucket), int64(a.number - b.number), int64(a.server - b.server),
		int64(a.operation - b.operation),
	} {
		if c != 0 {
			return int(max(-1, min(1, c)))
		}
	}
	return slices.Compare([]byte(a.link), []byte(b.link))
}
