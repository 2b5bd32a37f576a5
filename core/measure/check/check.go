// Package check recomputes what links and servers made of the payloads of a run, from the slices
// that its processes kept.
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

// Run is the recorded work to check.
type Run struct {
	Seed    uint64
	Buckets []tensor.BucketSpec
	Names   []string // of the trainers
	// Servers are the trainers of each server, by its rank.
	Servers map[int][]int
	// Answers is what servers answer, where they say it: of the mean or the sum over their trainers
	// nobody needs to ask them.
	Answers sdk.Answers
	// HookAlone says that the hook reduces by its server and nothing else, and so among those who share it.
	HookAlone bool
	// Combine is what a server makes of gradients of the same elements: a list of gradients becomes
	// an answer. It is nil where nobody knows, and then no answer is compared.
	Combine func(server int, pushed [][][]float32) ([][]float32, error)
	// Kept are the exchanges of each trainer.
	Kept [][]*record.Exchange
}

// Outcome is what was found.
type Outcome struct {
	Slices     int64 // of payloads, whose result was compared
	Elements   int64 // compared
	Iterations int64 // of which there is such a slice
	Missing    int64 // slices without that of another member
	Mismatch   *Mismatch
}

// Mismatch is an element that is not what it should be.
type Mismatch struct {
	Bucket, Element int
	Rank            string
	Batch           int64
	Operation, Link string
	Got             string // what is wrong
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

// key is what the exchanges of one operation have in common.
type key struct {
	link      string
	server    int // -1 of a group
	batch     int64
	bucket    int
	number    int
	operation record.Operation
	edges     bool
}

// operation is the exchanges of all members that take part in one.
type operation struct {
	key
	run     *Run
	spec    *tensor.BucketSpec
	place   checked.Place
	ranks   []int // of the members
	members []*record.Exchange
	answer  []column // of a server, once that is known
}

// Do recomputes everything, and stops at the first mismatch in the order of iterations. Its error
// is that a process sent what it cannot have kept, or that a server cannot be asked.
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

// operations groups the exchanges of all trainers.
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

// put takes the exchange of a member.
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

// factor is what the sum of the members is multiplied by.
func (op *operation) factor() float64 {
	if op.operation == record.Average || op.operation == record.PushPull && op.run.Answers == sdk.AnswersMean {
		return 1 / float64(len(op.members))
	}
	return 1
}

// asks says that the server alone knows what must come out.
func (op *operation) asks() bool {
	return op.operation == record.PushPull && op.run.Answers != sdk.AnswersMean && op.run.Answers != sdk.AnswersSum
}

// before orders operations by iteration.
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
