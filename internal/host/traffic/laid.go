package traffic

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// Links carry the payloads of a plan. Stores have the specs of Payloads.
type Links struct {
	Server  comm.PushPuller // nil if nothing is pushed
	Pushed  *comm.Store
	Groups  []comm.Group // by round; nil for a round that only pushes
	Grouped []*comm.Store
}

// Laid is a plan that is laid on links.
//
// The operations of a round have a group of their own. All ranks must start them in one order of the
// buckets; operations of other rounds may start at any time between. With one group for all rounds,
// the order of a late round of one bucket and an early round of the next would have to be the same on
// all ranks too, although it depends on time.
type Laid struct {
	buckets []laidBucket
	stores  []*comm.Store
}

// laidBucket has the operations of a bucket, by round.
type laidBucket struct {
	rounds   [][]transfer
	payloads [][]*tensor.Bucket
}

// transfer is an operation of a bucket's round.
type transfer struct {
	payload *tensor.Bucket
	start   func(batch int64, b *tensor.Bucket) *comm.Future // bound once, because each method value allocates
	future  *comm.Future                                     // of the last start
	series  *sdk.Series
}

// Lay lays a checked plan on links.
func Lay(t sdk.Traffic, links Links, recorder *sdk.Recorder) *Laid {
	l := &Laid{buckets: make([]laidBucket, len(t))}
	for _, store := range append(slices.Clone(links.Grouped), links.Pushed) {
		if store != nil {
			l.stores = append(l.stores, store)
		}
	}
	_, grouped := Payloads(t)
	pushed, taken := 0, make([]int, len(grouped))
	for i, rounds := range t {
		b := &l.buckets[i]
		for k, round := range rounds {
			transfers, payloads := make([]transfer, len(round)), make([]*tensor.Bucket, len(round))
			for j, o := range round {
				store, next := at(links.Grouped, k), &taken[k]
				if o.Kind == sdk.PushPull {
					store, next = links.Pushed, &pushed
				}
				payloads[j] = store.Buckets[*next]
				*next++
				transfers[j] = transfer{payload: payloads[j], start: starter(o, at(links.Groups, k), links.Server),
					series: recorder.Series(record.FutureMetric, seriesOf(k, round, j))}
			}
			b.rounds, b.payloads = append(b.rounds, transfers), append(b.payloads, payloads)
		}
	}
	return l
}

// seriesOf names the series of an operation, such as "round 1 allreduce bfloat16". Further
// operations of a round with the same name are numbered from 2.
func seriesOf(round int, operations sdk.Round, i int) string {
	same := 0
	for _, o := range operations[:i+1] { // at most maxOperations
		if o.Kind == operations[i].Kind && o.Type == operations[i].Type {
			same++
		}
	}
	operation := fmt.Sprintf("%s %s", operations[i].Kind, operations[i].Type)
	if same > 1 {
		operation += fmt.Sprintf(" %d", same)
	}
	return record.RoundSeries(round, operation)
}

// starter returns the method that starts an operation on its link.
func starter(o sdk.Operation, group comm.Group,
	server comm.PushPuller) func(int64, *tensor.Bucket) *comm.Future {
	switch o.Kind {
	case sdk.PushPull:
		return server.PushPull
	case sdk.AllReduce:
		return group.AllReduce
	case sdk.Average:
		return group.Average
	case sdk.ReduceScatter:
		return group.ReduceScatter
	case sdk.AllGather:
		return group.AllGather
	case sdk.AllToAll:
		return group.AllToAll
	default:
		return func(batch int64, b *tensor.Bucket) *comm.Future { return group.Broadcast(batch, b, o.Root) }
	}
}

// Rounds returns the number of rounds of a bucket; 0 for an unknown bucket.
func (l *Laid) Rounds(bucket int) int {
	if bucket < 0 {
		return 0
	}
	return len(at(l.buckets, bucket).rounds)
}

// Stores returns the memory of all payloads.
func (l *Laid) Stores() []*comm.Store { return l.stores }

// Longest returns the largest number of rounds of a bucket.
func (l *Laid) Longest() (n int) {
	for i := range l.buckets {
		n = max(n, len(l.buckets[i].rounds))
	}
	return n
}

// Payloads returns the payloads of a bucket, by round and operation; none for an unknown bucket.
func (l *Laid) Payloads(bucket int) [][]*tensor.Bucket { return at(l.buckets, bucket).payloads }

// Start starts the operations of a bucket's round. Their times have the given key.
func (l *Laid) Start(bucket, round int, batch int64, key sdk.Key) {
	transfers := l.buckets[bucket].rounds[round]
	for i := range transfers {
		t := &transfers[i]
		startNS := comm.Now()
		t.future = t.start(batch, t.payload)
		t.future.Observe(t.series, key.A, key.B, startNS)
	}
}

// Wait waits for all operations of a started round and returns the first error.
func (l *Laid) Wait(bucket, round int) (err error) {
	for _, t := range l.buckets[bucket].rounds[round] {
		if failed := t.future.Wait(); err == nil {
			err = failed
		}
	}
	return err
}
