// Package traffic checks the traffic plan of a hook, lays links and memory for it, and runs its rounds.
package traffic

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// Limits of a bucket's plan. Each round with a collective has a group of its own.
const (
	maxRounds     = 16
	maxOperations = 64 // in a round
)

// kinds lists the kinds of operation and what their elements must support.
var kinds = map[sdk.OperationKind]struct {
	link  sdk.Link
	takes func(tensor.Type) bool
}{
	sdk.PushPull:      {sdk.LinkServer, tensor.Type.Is32},
	sdk.AllReduce:     {sdk.LinkGroup, tensor.Type.Sums},
	sdk.Average:       {sdk.LinkGroup, tensor.Type.Averages},
	sdk.Broadcast:     {sdk.LinkGroup, known},
	sdk.ReduceScatter: {sdk.LinkGroup, tensor.Type.Sums},
	sdk.AllGather:     {sdk.LinkGroup, known},
	sdk.AllToAll:      {sdk.LinkGroup, known},
}

const kindNames = sdk.PushPull + ", " + sdk.AllReduce + ", " + sdk.Average + ", " + sdk.Broadcast + ", " +
	sdk.ReduceScatter + ", " + sdk.AllGather + " and " + sdk.AllToAll

func known(t tensor.Type) bool { return t.Bytes() > 0 }

// Check returns an error if a hook with these links cannot have a plan for these buckets.
func Check(t sdk.Traffic, buckets []tensor.BucketSpec, trainers int, links []sdk.Link) error {
	if len(t) > len(buckets) {
		return fmt.Errorf("it plans bucket %d, but the buckets are 0 to %d", len(t)-1, len(buckets)-1)
	}
	pushes := false
	for b, rounds := range t {
		if len(rounds) > maxRounds {
			return fmt.Errorf("bucket %d has %d rounds, but at most %d are possible", b, len(rounds), maxRounds)
		}
		for r, round := range rounds {
			switch n := len(round); {
			case n == 0:
				return fmt.Errorf("bucket %d, round %d has no operation: leave the round out", b, r)
			case n > maxOperations:
				return fmt.Errorf("bucket %d, round %d has %d operations, but at most %d are possible", b, r, n, maxOperations)
			}
			for _, o := range round {
				if err := check(o, trainers, links); err != nil {
					return fmt.Errorf("bucket %d, round %d, %s: %w", b, r, quote.Message(o.String()), err)
				}
				pushes = pushes || o.Kind == sdk.PushPull
			}
		}
	}
	if pushes && !covers(t, len(buckets)) && !slices.Contains(links, sdk.LinkGroup) {
		return errors.New("it pushes payloads to the server, which then takes no buckets: plan rounds for every bucket")
	}
	return nil
}

func check(o sdk.Operation, trainers int, links []sdk.Link) error {
	kind, ok := kinds[o.Kind]
	switch {
	case !ok:
		return fmt.Errorf("the kinds of operation are %s", kindNames)
	case !slices.Contains(links, kind.link):
		return fmt.Errorf("the hook declares no link %s", kind.link)
	case !known(o.Type):
		return fmt.Errorf("the element types are %s", tensor.JoinTypes(tensor.Types))
	case !kind.takes(o.Type):
		able := slices.DeleteFunc(slices.Clone(tensor.Types), func(t tensor.Type) bool { return !kind.takes(t) })
		return fmt.Errorf("the operation is only defined for %s", tensor.JoinTypes(able))
	case o.Elements < 1 || o.Elements > math.MaxInt32:
		return fmt.Errorf("a payload has 1 to %d elements", math.MaxInt32)
	case o.Root < 0 || o.Root >= trainers:
		return fmt.Errorf("root %d is no position: these are 0 to %d", o.Root, trainers-1)
	}
	return nil
}

// covers reports whether a plan has rounds for each of n buckets.
func covers(t sdk.Traffic, n int) bool {
	return len(t) == n && !slices.ContainsFunc(t, func(rounds []sdk.Round) bool { return len(rounds) == 0 })
}

// Named is the plan of a rank's hook.
type Named struct {
	Process string
	Traffic sdk.Traffic
}

// Agree returns an error unless all ranks have the same plan, and it is possible for hooks with these
// links. aggregated says that trainers of a host push as one.
func Agree(plans []Named, buckets []tensor.BucketSpec, links []sdk.Link, aggregated bool) error {
	first := plans[0]
	for _, p := range plans {
		if different := difference(first.Traffic, p.Traffic, first.Process, p.Process); different != "" {
			return errors.New(different + ": a hook's plan must depend on the buckets and the settings alone")
		}
		if err := Check(p.Traffic, buckets, len(plans), links); err != nil {
			return fmt.Errorf("%s plans its traffic, but %w", p.Process, err)
		}
	}
	if rounds := PushRounds(first.Traffic); aggregated && rounds > 1 {
		return fmt.Errorf("%s pushes in %d rounds, but trainers that push as one all push in one order, which rounds do not have: leave out --aggregate",
			first.Process, rounds)
	}
	return nil
}

// difference describes the first operation that differs between the plans of two ranks, or returns "".
func difference(a, b sdk.Traffic, nameA, nameB string) string {
	for bucket := range max(len(a), len(b)) {
		roundsA, roundsB := at(a, bucket), at(b, bucket)
		for round := range max(len(roundsA), len(roundsB)) {
			opsA, opsB := at(roundsA, round), at(roundsB, round)
			for i := range max(len(opsA), len(opsB)) {
				if at(opsA, i) != at(opsB, i) {
					return fmt.Sprintf("for bucket %d, round %d, operation %d, %s plans %s and %s %s", bucket, round, i,
						nameA, described(opsA, i), nameB, described(opsB, i))
				}
			}
		}
	}
	return ""
}

// at returns element i of a list, or the zero value after its end.
func at[S ~[]E, E any](list S, i int) (e E) {
	if i < len(list) {
		e = list[i]
	}
	return e
}

func described(round sdk.Round, i int) string {
	if i >= len(round) {
		return "none"
	}
	return quote.Message(round[i].String())
}

// PushRounds returns in how many rounds a plan pushes.
func PushRounds(t sdk.Traffic) int {
	pushing := map[int]bool{}
	for _, rounds := range t {
		for r, round := range rounds {
			if slices.ContainsFunc(round, func(o sdk.Operation) bool { return o.Kind == sdk.PushPull }) {
				pushing[r] = true
			}
		}
	}
	return len(pushing)
}

// Served returns the specs of what servers take: the payloads that hooks plan to push, or else the
// buckets.
func Served(buckets []tensor.BucketSpec, t sdk.Traffic) []tensor.BucketSpec {
	if pushed, _ := Payloads(t); len(pushed) > 0 {
		return pushed
	}
	return buckets
}

// Stored returns the specs of everything that a rank stores: its buckets and the payloads of its hook.
func Stored(buckets []tensor.BucketSpec, t sdk.Traffic) []tensor.BucketSpec {
	pushed, grouped := Payloads(t)
	return slices.Concat(buckets, pushed, slices.Concat(grouped...))
}

// Reserve returns an error unless the payloads of all owners, who share this host, fit into its memory
// together. A fabric that allocates on the heap does not check that.
func Reserve(owners []string, t sdk.Traffic) error {
	bytes := 0.0
	for _, spec := range Stored(nil, t) {
		bytes += 4 * float64(spec.Words())
	}
	if bytes == 0 {
		return nil
	}
	return shm.ReserveTogether("the payloads of "+comm.JoinNames(owners), float64(len(owners))*bytes)
}

// Payloads lists the payloads of a plan: those pushed to the server, and for each round those of the
// group. Each list is a link's, so its indexes count from 0, in the order of buckets and operations.
func Payloads(t sdk.Traffic) (pushed []tensor.BucketSpec, grouped [][]tensor.BucketSpec) {
	for _, rounds := range t {
		for r, round := range rounds {
			for len(grouped) <= r {
				grouped = append(grouped, nil)
			}
			for _, o := range round {
				list := &grouped[r]
				if o.Kind == sdk.PushPull {
					list = &pushed
				}
				*list = append(*list, tensor.BucketSpec{Index: len(*list), Elements: o.Elements, Type: o.Type})
			}
		}
	}
	return pushed, grouped
}
