package protocol

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/sdk"
)

// sums is a round that all-reduces payloads of these sizes.
func sums(elements ...int) (round sdk.Round) {
	for _, n := range elements {
		round = append(round, sdk.Operation{Kind: sdk.AllReduce, Type: tensor.Float32, Elements: n})
	}
	return round
}

// planned has rounds for three of four dense buckets, and none for the sparse one.
var planned = sdk.Traffic{{sums(3), sums(1, 2), sums(5)}, nil, {sums(4)}, {sums(2), sums(1)}, nil}

// payloadsOf returns the numbers of the first payload of a bucket's round and of the next round.
func payloadsOf(bucket, round int) (first, next int32) {
	for b, rounds := range planned {
		for r, operations := range rounds {
			if b == bucket && r == round {
				return first, first + int32(len(operations)) // #nosec G115 -- few
			}
			first += int32(len(operations)) // #nosec G115 -- few
		}
	}
	return first, first
}

// Two ranks run the rounds of several buckets at once over real links. The parts request rounds after random delays,
// and so in orders that differ. Every round must have the right sum on both ranks.
func TestRoundsOverLinks(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			folder := t.TempDir()
			group := process.Group{Members: make([]process.Peer, 2)}
			hosts := make([]*process.Process, 2)
			for i := range hosts {
				hosts[i] = newHost(t, folder, fmt.Sprintf("trainer%d", i), transport, late)
				group.Members[i] = process.Peer{Name: hosts[i].Name(), Address: hosts[i].LinkAddress()}
			}
			var ranks sync.WaitGroup
			defer ranks.Wait()
			for i, host := range hosts {
				h, store := hookOf(t, host, folder, bucketsOf(8, 8, 8, 8), playRounds(i))
				ranks.Go(func() {
					mine := group
					mine.Position = i
					if err := lay(host, h, store, process.HookLinks{Group: &mine, Traffic: planned}); err != nil {
						t.Error(err)
						return
					}
					for batch := range 50 {
						var futures []*comm.Future
						for _, b := range store.Buckets {
							futures = append(futures, h.Reduce(at(batch), b))
						}
						for b, f := range futures {
							if err := f.Wait(); err != nil {
								t.Errorf("rank %d, batch %d, bucket %d: %v", i, batch, b, err)
								return
							}
						}
					}
				})
			}
		})
	}
}

// lay joins a hook's links and lays its plan.
func lay(host *process.Process, h *Hook, store *comm.Store, links process.HookLinks) error {
	joined, err := host.JoinLinks(links, store)
	if err != nil {
		return err
	}
	h.Join(joined)
	return h.Lay(host, links)
}

// playRounds requests the rounds of each bucket in order, and averages a bucket without rounds. Each payload holds the
// rank, the round and the batch; playRounds checks the sums.
func playRounds(rank int) takes {
	next := map[int32]int{}
	random := rand.New(rand.NewPCG(uint64(rank), 2)) // #nosec G404 -- a test
	return func(p *protocoltest.Part, f wire.Header) error {
		time.Sleep(time.Duration(random.IntN(300)) * time.Microsecond)
		rounds := planned[f.Bucket]
		if rounds == nil {
			return p.Send(wire.Header{Op: opAverage, Flags: flagLast, Batch: f.Batch, Bucket: f.Bucket, Rows: f.Rows})
		}
		if f.Op == opReduce {
			next[f.Bucket] = 0
		} else if err := checkSums(p, f, next[f.Bucket]-1); err != nil {
			return err
		}
		round := next[f.Bucket]
		next[f.Bucket]++
		if round == len(rounds) {
			return p.Send(wire.Header{Op: opReduced, Batch: f.Batch, Bucket: f.Bucket})
		}
		first, end := payloadsOf(int(f.Bucket), round)
		for payload := first; payload < end; payload++ {
			values := p.Floats(uint8(rolePayload), payload)
			for i := range values {
				values[i] = float32(rank + 10*round + 100*int(f.Batch))
			}
		}
		return p.Send(wire.Header{Op: opRound, Batch: f.Batch, Bucket: f.Bucket, Arg: int64(round)})
	}
}

// checkSums compares the payloads of a round that has ended with the sum over two ranks.
func checkSums(p *protocoltest.Part, f wire.Header, round int) error {
	if wire.Op(f.Arg) != opRound { // #nosec G115 -- an operation
		return fmt.Errorf("operation %#x has ended, not a round", f.Arg)
	}
	first, end := payloadsOf(int(f.Bucket), round)
	for payload := first; payload < end; payload++ {
		values := p.Floats(uint8(rolePayload), payload)
		if len(values) != planned[f.Bucket][round][payload-first].Elements {
			return fmt.Errorf("payload %d has %d elements", payload, len(values))
		}
		for i, v := range values {
			if want := float32(1 + 20*round + 200*int(f.Batch)); v != want {
				return fmt.Errorf("batch %d, bucket %d, round %d: element %d is %v, not %v", f.Batch, f.Bucket, round, i, v,
					want)
			}
		}
	}
	return nil
}

// meeting is a group of two ranks for one round: an operation ends once both ranks have started it.
type meeting struct {
	links
	mu      *sync.Mutex
	open    map[[2]int]*comm.Promise // by round and bucket
	round   int
	started func(round, bucket int)
}

func (m *meeting) AllReduce(_ int64, b *tensor.Bucket) *comm.Future {
	m.mu.Lock()
	defer m.mu.Unlock()
	key, p := [2]int{m.round, b.Index}, comm.NewPromise(nil)
	p.Begin()
	if other := m.open[key]; other != nil {
		other.Complete(nil)
		p.Complete(nil)
	} else {
		m.open[key] = p
	}
	m.started(m.round, b.Index)
	return p.Future()
}

// Ranks whose rounds advance at their own speed do not wait for each other for ever: rank 1 hands over both buckets at
// once, rank 0 its second bucket only when its first one is in the last round. Round 2 ends without the other rank.
func TestRoundsOfUnequalRanks(t *testing.T) {
	rounds := []sdk.Round{sums(1), sums(1), {{Kind: sdk.PushPull, Type: tensor.Float32, Elements: 1}}, sums(1)}
	plan := sdk.Traffic{rounds, rounds, nil}
	var mu sync.Mutex
	open := map[[2]int]*comm.Promise{}
	inLast := make(chan struct{})
	hooks, stores := make([]*Hook, 2), make([]*comm.Store, 2)
	for rank := range hooks {
		folder, next := t.TempDir(), map[int32]int64{}
		host := newHost(t, folder, fmt.Sprint("trainer", rank), "unix", late)
		h, store := hookOf(t, host, folder, bucketsOf(8, 8), func(p *protocoltest.Part, f wire.Header) error {
			ask := wire.Header{Op: opRound, Batch: f.Batch, Bucket: f.Bucket, Arg: next[f.Bucket]}
			if next[f.Bucket]++; ask.Arg == int64(len(rounds)) {
				ask.Op, ask.Arg = opReduced, 0
			}
			return p.Send(ask)
		})
		pushed, grouped := traffic.Payloads(plan)
		payloads := func(specs []tensor.BucketSpec) *comm.Store {
			s, err := host.Fabric.InSegments().NewStore(host.Name(), specs)
			if err != nil {
				t.Fatal(err)
			}
			host.OwnMemory(s)
			return s
		}
		joined := traffic.Links{Server: &links{}, Pushed: payloads(pushed)}
		for k, specs := range grouped {
			joined.Grouped = append(joined.Grouped, payloads(specs))
			joined.Groups = append(joined.Groups, &meeting{mu: &mu, open: open, round: k, started: func(round, bucket int) {
				if rank == 0 && round == len(rounds)-1 && bucket == 0 {
					close(inLast)
				}
			}})
		}
		h.Join(sdk.Links{})
		if err := h.run(traffic.Lay(plan, joined, host.Recorder)); err != nil {
			t.Fatal(err)
		}
		hooks[rank], stores[rank] = h, store
	}
	reduce := func(rank, bucket int) *comm.Future { return hooks[rank].Reduce(at(0), stores[rank].Buckets[bucket]) }
	futures := []*comm.Future{reduce(1, 0), reduce(1, 1), reduce(0, 0)}
	<-inLast
	futures = append(futures, reduce(0, 1))
	time.Sleep(50 * time.Millisecond) // a waiter would drive its bucket past what the hook's own goroutines wait for
	var waiters sync.WaitGroup
	for _, f := range futures {
		waiters.Go(func() {
			if err := f.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	waiters.Wait()
}

// A request that does not fit the plan ends the reduction with one sentence that names the part.
func TestRoundsRefuseLies(t *testing.T) {
	for name, c := range map[string]struct {
		bucket int
		asks   []wire.Header // one after each frame of the host
		past   bool          // the part writes past the end of a payload
		err    error         // of the operations
		want   string
	}{
		"reduced too early": {0, []wire.Header{{Op: opReduced}}, false, nil,
			"trainer0.part sent reduced of batch 4, bucket 0 after 0 of the 2 rounds that its hook has planned"},
		"reduced a round too early": {0, []wire.Header{{Op: opRound}, {Op: opReduced}}, false, nil,
			"trainer0.part sent reduced of batch 4, bucket 0 after 1 of the 2 rounds that its hook has planned"},
		"another operation": {0, []wire.Header{{Op: opAverage}}, false, nil,
			"trainer0.part sent average of batch 4, bucket 0 after 0 of the 2 rounds that its hook has planned"},
		"another operation at the end": {0, []wire.Header{{Op: opRound}, {Op: opRound, Arg: 1}, {Op: opAverage}}, false, nil,
			"trainer0.part sent average of batch 4, bucket 0 after 2 of the 2 rounds that its hook has planned"},
		"a later round": {0, []wire.Header{{Op: opRound, Arg: 1}}, false, nil,
			"trainer0.part sent round of batch 4, bucket 0 with number 1 after 0 of 2 rounds"},
		"a round below 0": {0, []wire.Header{{Op: opRound, Arg: -1}}, false, nil,
			"trainer0.part sent round of batch 4, bucket 0 with number -1 after 0 of 2 rounds"},
		"a round again": {0, []wire.Header{{Op: opRound}, {Op: opRound}}, false, nil,
			"trainer0.part sent round of batch 4, bucket 0 with number 0 after 1 of 2 rounds"},
		"a round too many": {0, []wire.Header{{Op: opRound}, {Op: opRound, Arg: 1}, {Op: opRound, Arg: 2}}, false, nil,
			"trainer0.part sent round of batch 4, bucket 0 with number 2 after 2 of 2 rounds"},
		"a round as the last operation": {0, []wire.Header{{Op: opRound, Flags: flagLast}}, false, nil,
			"trainer0.part sent round of batch 4, bucket 0 with flags 128, but a round has none"},
		"a round without a plan": {1, []wire.Header{{Op: opRound}}, false, nil,
			"trainer0.part sent round of batch 4, bucket 1, but its hook has planned no rounds for the bucket"},
		"past the end": {0, []wire.Header{{Op: opRound}}, true, nil,
			"trainer0.part wrote past the end of payload 1 of bucket 0 in batch 4"},
		"a failed operation": {0, []wire.Header{{Op: opRound}}, false, errors.New("it is full"),
			"trainer0.part, round: it is full"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			host := newHost(t, folder, "trainer0", "unix", late)
			taken := 0
			h, store := hookOf(t, host, folder, bucketsOf(8, 8), func(p *protocoltest.Part, f wire.Header) error {
				ask := c.asks[taken]
				taken++
				ask.Batch, ask.Bucket = f.Batch, f.Bucket
				if c.past {
					past(p, rolePayload, 1)
				}
				return p.Send(ask)
			})
			group := &links{err: c.err}
			h.Join(sdk.Links{Group: group})
			plan := sdk.Traffic{{sums(2, 3), sums(1)}, nil, nil}
			var stores []*comm.Store
			_, grouped := traffic.Payloads(plan)
			for _, specs := range grouped {
				payloads, err := host.Fabric.InSegments().NewStore("trainer0", specs)
				if err != nil {
					t.Fatal(err)
				}
				host.OwnMemory(payloads)
				stores = append(stores, payloads)
			}
			laid := traffic.Lay(plan, traffic.Links{Groups: []comm.Group{group, group}, Grouped: stores}, host.Recorder)
			if err := h.run(laid); err != nil {
				t.Fatal(err)
			}
			err := h.Reduce(at(4), store.Buckets[c.bucket]).Wait()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it ended with %v, want %q", err, c.want)
			}
		})
	}
}
