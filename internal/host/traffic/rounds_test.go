package traffic

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// link is a server link or a group that notes the payloads of its operations. The test ends the operations, unless the
// link is instant.
type link struct {
	comm.Group
	instant  bool
	mu       sync.Mutex
	started  []int
	promises []*comm.Promise
	began    chan int // a payload whose operation has begun, if not nil
}

func newLink(payloads int) *link {
	l := &link{}
	for range payloads {
		l.promises = append(l.promises, comm.NewPromise(nil))
	}
	return l
}

func (l *link) PushPull(_ int64, b *tensor.Bucket) *comm.Future {
	p := l.promises[b.Index]
	p.Begin()
	if l.instant {
		p.Complete(nil)
		return p.Future()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = append(l.started, b.Index)
	l.began <- b.Index
	return p.Future()
}

func (l *link) AllGather(batch int64, b *tensor.Bucket) *comm.Future { return l.PushPull(batch, b) }

// order returns the payloads of the operations so far.
func (l *link) order() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.started)
}

// begun is an operation that a test may end.
type begun struct {
	link    *link
	payload int
}

// laid lays a plan on links of the test. began gets each operation; with a nil began the links are instant.
func laid(t testing.TB, plan sdk.Traffic, began chan begun) (*Rounds, []*link) {
	t.Helper()
	pushed, grouped := Payloads(plan)
	r := New(&sync.RWMutex{})
	joined := Links{Pushed: comm.NewStore(pushed)}
	links := []*link{newLink(len(pushed))}
	joined.Server = links[0]
	for _, specs := range grouped {
		l := newLink(len(specs))
		links = append(links, l)
		joined.Groups, joined.Grouped = append(joined.Groups, l), append(joined.Grouped, comm.NewStore(specs))
	}
	var passing sync.WaitGroup
	for _, l := range links {
		if l.instant = began == nil; l.instant {
			continue
		}
		l.began = make(chan int, 100)
		passing.Go(func() {
			for payload := range l.began {
				began <- begun{l, payload}
			}
		})
	}
	r.Join(Lay(plan, joined, &sdk.Recorder{}))
	t.Cleanup(func() {
		for _, l := range links {
			for _, p := range l.promises {
				p.Complete(errors.New("the link is closed"))
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		for _, l := range links {
			if l.began != nil {
				close(l.began)
			}
		}
		passing.Wait()
	})
	return r, links
}

// steps notes the Steps of each bucket. Step number fails of bucket 0 fails.
type steps struct {
	mu    sync.Mutex
	calls [][]int
	fails int
}

func (s *steps) Step(at sdk.HookState, round int, b *tensor.Bucket, payloads [][]*tensor.Bucket) error {
	if at.Batch() != 3 || at.Key(b.Index) != (sdk.Key{A: 3, B: int64(b.Index)}) {
		return fmt.Errorf("the state is batch %d, key %v", at.Batch(), at.Key(b.Index))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[b.Index] = append(s.calls[b.Index], round)
	if b.Index == 0 && round == s.fails {
		return errors.New("the step fails")
	}
	return nil
}

func newSteps(buckets int) *steps { return &steps{calls: make([][]int, buckets), fails: -1} }

type state int64

func (s state) Batch() int64           { return int64(s) }
func (s state) Key(bucket int) sdk.Key { return sdk.Key{A: int64(s), B: int64(bucket)} }

func bucketOf(i int) *tensor.Bucket {
	return &tensor.Bucket{BucketSpec: tensor.BucketSpec{Index: i, Elements: 1}}
}

// However the operations end, every group sees its operations in the order of the buckets, each bucket has all its
// Steps in order, and Reduce does not wait for any operation.
func TestRoundsKeepTheOrderOfBuckets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := drawn(rt)
		began := make(chan begun, 1000)
		t.Run("", func(t *testing.T) {
			r, links := laid(t, plan, began)
			s := newSteps(len(plan))
			var futures []*comm.Future
			operations := 0
			for i, rounds := range plan {
				if len(rounds) == 0 {
					continue
				}
				futures = append(futures, r.Reduce(state(3), bucketOf(i), s))
				for _, round := range rounds {
					operations += len(round)
				}
			}
			var pending []begun
			for ended := 0; ended < operations; ended++ {
				for len(pending) == 0 || len(began) > 0 {
					pending = append(pending, <-began)
				}
				k := rapid.IntRange(0, len(pending)-1).Draw(rt, "next")
				pending[k].link.promises[pending[k].payload].Complete(nil)
				pending = slices.Delete(pending, k, k+1)
			}
			for _, f := range futures {
				if err := f.Wait(); err != nil {
					t.Error(err)
				}
			}
			for i, l := range links[1:] {
				if order := l.order(); !slices.IsSorted(order) {
					t.Errorf("the group of round %d has the order %v", i, order)
				}
			}
			for i, rounds := range plan {
				var want []int
				for k := range rounds {
					want = append(want, k)
				}
				if len(rounds) > 0 {
					want = append(want, len(rounds))
				}
				if d := cmp.Diff(want, s.calls[i]); d != "" {
					t.Errorf("bucket %d: %s", i, d)
				}
			}
		})
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// two is a plan of two buckets with two rounds of one all-gather each.
func two() sdk.Traffic {
	rounds := []sdk.Round{{operation(sdk.AllGather, tensor.Float32, 1)}, {operation(sdk.AllGather, tensor.Float32, 1)}}
	return sdk.Traffic{rounds, rounds}
}

// After the error of a step or of an operation, nothing starts any more, and every bucket ends with this error.
func TestFailuresOfRounds(t *testing.T) {
	for step := range 3 {
		t.Run(fmt.Sprint("step ", step), func(t *testing.T) {
			r, _ := laid(t, two(), nil)
			s := newSteps(2)
			s.fails = step
			want := fmt.Sprintf("Step %d of batch 3, bucket 0: the step fails", step)
			for b := range 2 {
				if err := r.Reduce(state(3), bucketOf(b), s).Wait(); err == nil || err.Error() != want {
					t.Errorf("bucket %d ends with %v, want %s", b, err, want)
				}
			}
			if len(s.calls[0]) != step+1 || len(s.calls[1]) != 0 {
				t.Errorf("the buckets have the steps %v", s.calls)
			}
		})
	}
	t.Run("operation", func(t *testing.T) {
		began := make(chan begun, 10)
		r, links := laid(t, two(), began)
		f := r.Reduce(state(3), bucketOf(0), newSteps(2))
		links[1].promises[(<-began).payload].Complete(errors.New("lost"))
		if err := f.Wait(); err == nil || err.Error() != "lost" {
			t.Errorf("the rounds end with %v", err)
		}
	})
}

// Reduce refuses a bucket without rounds, a bucket that is under way, and every bucket after Close.
func TestRoundsRefuse(t *testing.T) {
	r, _ := laid(t, append(two(), nil), make(chan begun, 10))
	s := newSteps(9)
	for i, want := range map[int]string{
		-1: "the hook has planned no rounds for bucket -1", 2: "the hook has planned no rounds for bucket 2",
		8: "the hook has planned no rounds for bucket 8",
	} {
		if err := r.Reduce(state(3), bucketOf(i), s).Wait(); err == nil || err.Error() != want {
			t.Errorf("bucket %d: %v, want %s", i, err, want)
		}
	}
	r.Reduce(state(3), bucketOf(0), s)
	const again = "nobody waited for the rounds of batch 3, bucket 0: Reduce must return their future, or one that waits for it"
	if err := r.Reduce(state(3), bucketOf(0), s).Wait(); err == nil || err.Error() != again {
		t.Errorf("%v, want %s", err, again)
	}
	closed, _ := laid(t, two(), nil)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := closed.Reduce(state(3), bucketOf(0), s).Wait(); !errors.Is(err, errEnding) {
		t.Errorf("after Close: %v", err)
	}
}

// A hook's iterations allocate nothing.
func TestRoundsAllocateNothing(t *testing.T) {
	r, _ := laid(t, two(), nil)
	s, buckets := &still{}, []*tensor.Bucket{bucketOf(0), bucketOf(1)}
	var at sdk.HookState = state(1)
	if n := testing.AllocsPerRun(100, func() {
		for _, b := range buckets {
			if err := r.Reduce(at, b, s).Wait(); err != nil {
				t.Fatal(err)
			}
		}
	}); n > 0.2 { // the series grows now and then
		t.Errorf("%v allocations in an iteration", n)
	}
}

// still is a Stepper that does nothing.
type still struct{}

func (*still) Step(sdk.HookState, int, *tensor.Bucket, [][]*tensor.Bucket) error { return nil }
