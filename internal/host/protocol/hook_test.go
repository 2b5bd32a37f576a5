package protocol

import (
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
	"github.com/psbench/psbench/sdk"
)

// bucketsOf returns dense buckets of these sizes, followed by one sparse bucket.
func bucketsOf(dense ...int) (specs []tensor.BucketSpec) {
	for i, n := range dense {
		specs = append(specs,
			tensor.BucketSpec{Index: i, Elements: n, Parameters: []tensor.Span{{Parameter: i, Elements: n}}})
	}
	n := len(dense)
	return append(specs, tensor.BucketSpec{
		Index: n, Sparse: true, TableRows: 100, Width: 2, Capacity: 6, Elements: 200,
		Parameters: []tensor.Span{{Parameter: n, Elements: 200}},
	})
}

// hookOf connects to a test double with its own buckets; take plays the hook.
func hookOf(t testing.TB, p *process.Process, folder string, specs []tensor.BucketSpec,
	take takes) (*Hook, *comm.Store) {
	t.Helper()
	store, err := p.Fabric.InSegments().NewStore(p.Name(), specs)
	if err != nil {
		t.Fatal(err)
	}
	p.OwnMemory(store)
	_, peer := protocoltest.NewPart(t, folder, p.Name()+".part", take)
	h, _, err := NewHook(p, peer, store)
	if err != nil {
		t.Fatal(err)
	}
	return h, store
}

type at int64

func (s at) Batch() int64           { return int64(s) }
func (s at) Key(bucket int) sdk.Key { return sdk.Key{A: int64(s), B: int64(bucket)} }

// links are links that record their operations and end them with err.
type links struct {
	mu    sync.Mutex
	noted []string
	err   error
	name  string
}

func (l *links) note(format string, args ...any) *comm.Future {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noted = append(l.noted, l.name+fmt.Sprintf(format, args...))
	return comm.Completed(l.err)
}

func (l *links) PushPull(batch int64, b *tensor.Bucket) *comm.Future {
	return l.note("push-pull %d %d", batch, b.Index)
}
func (l *links) AllReduce(batch int64, b *tensor.Bucket) *comm.Future {
	return l.note("all-reduce %d %d", batch, b.Index)
}
func (l *links) Average(batch int64, b *tensor.Bucket) *comm.Future {
	return l.note("average %d %d", batch, b.Index)
}
func (l *links) Broadcast(batch int64, b *tensor.Bucket, root int) *comm.Future {
	return l.note("broadcast %d %d from %d", batch, b.Index, root)
}
func (l *links) ReduceScatter(batch int64, b *tensor.Bucket) *comm.Future {
	return l.note("reduce-scatter %d %d", batch, b.Index)
}
func (l *links) AllGather(batch int64, b *tensor.Bucket) *comm.Future {
	return l.note("all-gather %d %d", batch, b.Index)
}
func (l *links) AllToAll(batch int64, b *tensor.Bucket) *comm.Future {
	return l.note("all-to-all %d %d", batch, b.Index)
}
func (l *links) Barrier() error { return nil }
func (l *links) Size() int      { return 2 }
func (l *links) Position() int  { return 0 }

// Every operation that a part can request runs on the link that the frame names.
func TestHookOperations(t *testing.T) {
	for name, c := range map[string]struct {
		asked wire.Header
		want  string
	}{
		"push-pull":      {wire.Header{Op: opPushPull}, "server push-pull 4 0"},
		"all-reduce":     {wire.Header{Op: opAllReduce}, "group all-reduce 4 0"},
		"default group":  {wire.Header{Op: opAllReduce, Flags: flagDefaultGroup}, "default all-reduce 4 0"},
		"average":        {wire.Header{Op: opAverage}, "group average 4 0"},
		"broadcast":      {wire.Header{Op: opBroadcast, Arg: 1}, "group broadcast 4 0 from 1"},
		"reduce-scatter": {wire.Header{Op: opReduceScatter}, "group reduce-scatter 4 0"},
		"all-gather":     {wire.Header{Op: opAllGather}, "group all-gather 4 0"},
		"all-to-all":     {wire.Header{Op: opAllToAll, Flags: flagDefaultGroup}, "default all-to-all 4 0"},
	} {
		for _, last := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, last %v", name, last), func(t *testing.T) {
				folder := t.TempDir()
				var ended wire.Op
				h, store := hookOf(t, newHost(t, folder, "trainer0", "unix", late), folder, bucketsOf(8),
					func(p *protocoltest.Part, f wire.Header) error {
						ask := c.asked
						ask.Batch, ask.Bucket = f.Batch, f.Bucket
						switch {
						case f.Op == opEnded:
							ended = wire.Op(f.Arg) // #nosec G115 -- an operation
							ask.Op, ask.Flags, ask.Arg = opReduced, 0, 0
						case last:
							ask.Flags |= flagLast
						}
						return p.Send(ask)
					})
				server, group, other := &links{name: "server "}, &links{name: "group "}, &links{name: "default "}
				h.Join(sdk.Links{Server: server, Group: group, Default: other})
				if err := h.Reduce(at(4), store.Buckets[0]).Wait(); err != nil {
					t.Fatal(err)
				}
				noted := append(append(server.noted, group.noted...), other.noted...)
				if got := strings.Join(noted, ", "); got != c.want {
					t.Errorf("it ran %q, want %q", got, c.want)
				}
				if !last && ended != c.asked.Op {
					t.Errorf("the part was told that %#x ended, want %#x", ended, c.asked.Op)
				}
			})
		}
	}
}

// asks lists the operations on each bucket of TestHooksOverLinks, in order. A last operation with
// flagLast ends the reduction. Without flagLast, the part sends opReduced.
var asks = [][]wire.Header{
	{{Op: opAllReduce}, {Op: opBroadcast, Arg: 1}, {Op: opAverage, Flags: flagLast}},
	{{Op: opAverage, Flags: flagLast}},
	{{Op: opReduceScatter}, {Op: opAllGather}},
	{}, // reduced without any operation
	{{Op: opAllReduce}, {Op: opAllReduce, Flags: flagLast}}, // the sparse bucket
}

// Two ranks reduce several buckets at once over real links, with several operations per bucket. The
// ranks' parts are fast and slow in turn. Both ranks must run the operations in the same order and
// get the right results.
func TestHooksOverLinks(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			folder := t.TempDir()
			specs := bucketsOf(10, 1000, 40, 3)
			group := process.Group{Members: make([]process.Peer, 2)}
			hosts := make([]*process.Process, 2)
			for i := range hosts {
				hosts[i] = newHost(t, folder, fmt.Sprintf("trainer%d", i), transport, late)
				group.Members[i] = process.Peer{Name: hosts[i].Name(), Address: hosts[i].LinkAddress()}
			}
			var ranks sync.WaitGroup
			defer ranks.Wait()
			for i, host := range hosts {
				h, store := hookOf(t, host, folder, specs, playHook(uint64(i)))
				ranks.Go(func() {
					mine := group
					mine.Position = i
					joined, err := host.JoinLinks(process.HookLinks{Group: &mine}, store)
					if err != nil {
						t.Error(err)
						return
					}
					h.Join(joined)
					if err := reduceAll(h, store, i); err != nil {
						t.Errorf("rank %d: %v", i, err)
					}
				})
			}
		})
	}
}

// playHook requests the operations in asks, each after a random delay that depends on the seed.
func playHook(seed uint64) takes {
	next := map[int32]int{}
	random := rand.New(rand.NewPCG(seed, 0)) // #nosec G404 -- a test
	return func(p *protocoltest.Part, f wire.Header) error {
		time.Sleep(time.Duration(random.IntN(300)) * time.Microsecond)
		if f.Op == opReduce {
			next[f.Bucket] = 0
			p.Floats(uint8(roleBucket), f.Bucket)[0]++
		}
		ask := wire.Header{Op: opReduced}
		if at := next[f.Bucket]; at < len(asks[f.Bucket]) {
			ask = asks[f.Bucket][at]
			next[f.Bucket]++
		}
		ask.Batch, ask.Bucket, ask.Rows = f.Batch, f.Bucket, f.Rows
		return p.Send(ask)
	}
}

// reduceAll reduces some batches. Dense buckets hold rank+1 in every element; sparse buckets have
// the rows rank and 9.
func reduceAll(h *Hook, store *comm.Store, rank int) error {
	var futures []*comm.Future
	random := rand.New(rand.NewPCG(uint64(rank), 1)) // #nosec G404 -- a test
	for batch := range 50 {
		for _, b := range store.Buckets {
			if b.Sparse {
				if err := b.Gradient.SetRows(2); err != nil {
					return err
				}
				b.Gradient.Rows[0], b.Gradient.Rows[1] = int32(rank), 9 // #nosec G115 -- two ranks
			}
			for i := range b.Gradient.Values {
				b.Gradient.Values[i] = float32(rank + 1)
			}
			time.Sleep(time.Duration(random.IntN(1000)) * time.Microsecond) // as in a backward pass
			futures = append(futures, h.Reduce(at(batch), b))
		}
		for _, f := range futures {
			if err := f.Wait(); err != nil {
				return err
			}
		}
		futures = futures[:0]
		// On each rank, the first element is one more than the others.
		for i, want := range [][2]float32{{5, 3}, {2.5, 1.5}, {5, 3}, {float32(rank + 2), float32(rank + 1)}} {
			if got := store.Buckets[i].Gradient.Values; got[0] != want[0] || got[len(got)-1] != want[1] {
				return fmt.Errorf("batch %d, bucket %d: it holds %v and %v at its ends, want %v", batch, i, got[0],
					got[len(got)-1], want)
			}
		}
		g := &store.Buckets[4].Gradient
		if got := fmt.Sprint(g.Rows, g.Values); got != "[0 1 9] [4 2 6 4 6 6]" {
			return fmt.Errorf("batch %d: the sparse bucket holds %s", batch, got)
		}
	}
	return nil
}

// still is a group whose operations complete at once and allocate nothing.
type still struct {
	links
	done *comm.Future
}

func (s *still) Average(int64, *tensor.Bucket) *comm.Future { return s.done }

// askAverage changes elements 0 and 7 of each bucket and requests the average.
func askAverage(p *protocoltest.Part, f wire.Header) error {
	values := p.Floats(uint8(roleBucket), f.Bucket)
	values[0], values[7] = values[0]+1, values[7]+1
	return p.Send(wire.Header{Op: opAverage, Flags: flagLast, Batch: f.Batch, Bucket: f.Bucket})
}

// BenchmarkReduce measures the overhead of a hook with one 25 MiB bucket, without the operation
// itself.
func BenchmarkReduce(b *testing.B) {
	folder := b.TempDir()
	h, store := hookOf(b, newHost(b, folder, "trainer0", "unix", late), folder, bucketsOf(25<<18), askAverage)
	h.Join(sdk.Links{Group: &still{done: comm.Completed(nil)}})
	for b.Loop() {
		if err := h.Reduce(at(4), store.Buckets[0]).Wait(); err != nil {
			b.Fatal(err)
		}
	}
}
