package protocol

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
	"github.com/psbench/psbench/sdk"
)

// bucketsOf are dense buckets and a sparse one, which comes last.
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

// hookOf joins the hook that take plays, with its own buckets.
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

// links are links whose operations note what they were, and end with err.
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

// Every operation that a part can ask for runs on the link that it names.
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

// asks are the operations on a bucket of TestHooksOverLinks, one after the other; the last one ends the
// reduction if it has the flag, and else the part says so.
var asks = [][]wire.Header{
	{{Op: opAllReduce}, {Op: opBroadcast, Arg: 1}, {Op: opAverage, Flags: flagLast}},
	{{Op: opAverage, Flags: flagLast}},
	{{Op: opReduceScatter}, {Op: opAllGather}},
	{}, // reduced, with no operation
	{{Op: opAllReduce}, {Op: opAllReduce, Flags: flagLast}}, // the sparse one
}

// Two ranks whose parts are fast and slow in turn reduce several buckets at once, by several operations
// each, over real links: in the same order, with what the operations leave.
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

// playHook asks for what asks has, after a time that depends on the seed.
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

// reduceAll runs batches in which rank holds rank+1 in every element of dense buckets, and the rows
// rank and 9.
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
			time.Sleep(time.Duration(random.IntN(1000)) * time.Microsecond) // as a backward pass does
			futures = append(futures, h.Reduce(at(batch), b))
		}
		for _, f := range futures {
			if err := f.Wait(); err != nil {
				return err
			}
		}
		futures = futures[:0]
		// The first element is one more than the others, on each rank.
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

// What a part must not do ends its reductions with one sentence that names it.
func TestHookRefusesLies(t *testing.T) {
	send := func(frames ...wire.Header) func(p *protocoltest.Part, f wire.Header) error {
		return func(p *protocoltest.Part, f wire.Header) error {
			for _, ask := range frames {
				if ask.Batch == 0 {
					ask.Batch = f.Batch
				}
				if err := p.Send(ask); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		does func(p *protocoltest.Part, f wire.Header) error
		err  error // of the operation
		want string
	}{
		"a bucket too far": {does: send(wire.Header{Op: opAverage, Bucket: 2}),
			want: "trainer0.part sent average of batch 4, bucket 2, but the run has buckets 0 to 1"},
		"a bucket below 0": {does: send(wire.Header{Op: opAverage, Bucket: -1}),
			want: "trainer0.part sent average of batch 4, bucket -1, but the run has buckets 0 to 1"},
		"another batch": {does: send(wire.Header{Op: opAverage, Batch: 5}),
			want: "trainer0.part sent average of batch 5, bucket 0 while batch 4 is being reduced"},
		"a bucket it has not": {does: send(wire.Header{Op: opReduced, Bucket: 1}),
			want: "trainer0.part sent reduced of batch 4, bucket 1, which nobody asked for"},
		"twice": {does: send(wire.Header{Op: opReduceScatter}, wire.Header{Op: opAverage}),
			want: "trainer0.part sent average of batch 4, bucket 0 while reduce-scatter of batch 4, bucket 0 is under way"},
		"rows of a dense bucket": {does: send(wire.Header{Op: opAverage, Rows: 1}),
			want: "trainer0.part sent average of batch 4, bucket 0 with 1 rows, but the bucket is dense"},
		"a link it has not": {does: send(wire.Header{Op: opAverage, Flags: flagDefaultGroup}),
			want: "trainer0.part sent average of batch 4, bucket 0, but its hook has no such link: it must declare that"},
		"a server it has not": {does: send(wire.Header{Op: opPushPull}),
			want: "trainer0.part sent push-pull of batch 4, bucket 0, but its hook has no link to a server: it must declare that"},
		"a call": {does: send(wire.Header{Op: opReduce}),
			want: "trainer0.part sent reduce of batch 4, bucket 0, which nobody asked for"},
		"an answer to no ping": {does: send(wire.Header{Op: opPing}),
			want: "trainer0.part sent ping, which nobody asked for"},
		"a gradient": {does: send(wire.Header{Op: opGradient}),
			want: "trainer0.part sent gradient, which nobody asked for"},
		"an unknown operation": {does: send(wire.Header{Op: 0xee}),
			want: "trainer0.part sent operation 0xee, which nobody asked for"},
		"a tensor of its own": {does: send(wire.Header{Op: opTensor, Flags: uint8(roleOutput)}),
			want: "trainer0.part announced tensor 0 of role 10, which it does not have"},
		"no memory": {does: send(wire.Header{Op: opMemory}),
			want: "trainer0.part asked for a segment of 0 bytes: it can have 1 to 68719476736"},
		"too much memory": {does: send(wire.Header{Op: opMemory, Arg: wire.MaxPayload}),
			want: "trainer0.part asked for memory: a segment of 64 GiB for trainer0.part memory does not fit: "},
		"a frame once more": {does: func(p *protocoltest.Part, f wire.Header) error {
			return p.Forge(wire.Header{Op: opReduced, Batch: f.Batch})
		}, want: "trainer0.part sent a frame of another link to trainer0"},
		"a frame left out": {does: func(p *protocoltest.Part, f wire.Header) error {
			p.Skip()
			return p.Send(f)
		}, want: "where frame 201 is due: a frame was lost, repeated or reordered"},
		"failed": {does: func(p *protocoltest.Part, _ wire.Header) error {
			return p.Send(wire.Header{Op: opFailed}, []byte("ValueError: no\x1bsuch row")...)
		}, want: `trainer0.part: ValueError: no\x1bsuch row`},
		"failed, silently": {does: send(wire.Header{Op: opFailed}),
			want: "trainer0.part: it failed, and did not say why"},
		"hangs up": {does: func(*protocoltest.Part, wire.Header) error { return io.EOF },
			want: "trainer0 lost its link to trainer0.part during the answer to reduce of batch 4, bucket 0: EOF"},
		"a failed operation": {does: send(wire.Header{Op: opAverage}), err: errors.New("it is full"),
			want: "trainer0.part, average: it is full"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			h, store := hookOf(t, newHost(t, folder, "trainer0", "unix", late), folder, bucketsOf(8),
				func(p *protocoltest.Part, f wire.Header) error {
					if f.Op == opEnded {
						return nil
					}
					return c.does(p, f)
				})
			group := &links{err: c.err}
			if name == "twice" { // its operation never ends
				h.Join(sdk.Links{Group: &endless{group, comm.NewPromise(nil)}})
			} else {
				h.Join(sdk.Links{Group: group})
			}
			err := h.Reduce(at(4), store.Buckets[0]).Wait()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it ended with %v, want %q", err, c.want)
			}
			if about := fault.Describe(err).About; !slices.Equal(about, []string{"trainer0.part"}) {
				t.Errorf("it is about %q, want the part", about)
			}
		})
	}
}

// An operation that fails ends the reductions of all buckets: those that wait for their turn behind it,
// and those that come later. The core is told of the part once, by who waits.
func TestHookWhoseOperationFails(t *testing.T) {
	folder := t.TempDir()
	host := newHost(t, folder, "trainer0", "unix", late)
	h, store := hookOf(t, host, folder, bucketsOf(8, 8), func(p *protocoltest.Part, f wire.Header) error {
		return p.Send(wire.Header{Op: opBroadcast, Batch: f.Batch, Bucket: f.Bucket, Arg: 5})
	})
	h.Join(sdk.Links{Group: &links{err: errors.New("there is no position 5")}})
	const want = "trainer0.part, broadcast: there is no position 5"
	ends := []*comm.Future{h.Reduce(at(4), store.Buckets[0]), h.Reduce(at(4), store.Buckets[1])}
	for i, end := range ends {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			err := end.Wait()
			if about := fault.Describe(err).About; err == nil || err.Error() != want ||
				!slices.Equal(about, []string{"trainer0.part"}) {
				t.Errorf("bucket %d ended with %v about %q, want %q", i, err, about, want)
			}
		})
	}
	if err := h.Reduce(at(5), store.Buckets[1]).Wait(); err == nil || err.Error() != want {
		t.Errorf("the next one ended with %v, want %q", err, want)
	}
	<-h.link.read
	select {
	case err := <-host.Events.Failures:
		t.Errorf("the core was told %v as well", err)
	default:
	}
}

// endless is a group whose reduce-scatter is under way until the test ends it.
type endless struct {
	*links
	promise *comm.Promise
}

func (e *endless) ReduceScatter(int64, *tensor.Bucket) *comm.Future {
	e.promise.Begin()
	time.AfterFunc(soon, func() { e.promise.Complete(nil) })
	return e.promise.Future()
}

// Rows beyond the capacity of a bucket, or that are none, are the part's fault.
func TestHookRefusesRows(t *testing.T) {
	for name, c := range map[string]struct {
		rows  int32
		first int32
		want  string
	}{
		"too many": {7, 0,
			"trainer0.part sent reduced of batch 4, bucket 1: bucket 1: a sparse gradient of 7 rows does not fit a capacity of 6 rows"},
		"below 0": {-1, 0, "does not fit a capacity of 6 rows"},
		"no row":  {1, 100, "trainer0.part sent reduced of batch 4, bucket 1: bucket 1 has row 100 at place 0"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			h, store := hookOf(t, newHost(t, folder, "trainer0", "unix", late), folder, bucketsOf(8),
				func(p *protocoltest.Part, f wire.Header) error {
					tensor.ViewOf[int32](p.Of(uint8(roleBucketRows), 1), 1)[0] = c.first
					f.Op, f.Rows = opReduced, c.rows
					return p.Send(f)
				})
			h.Join(sdk.Links{})
			err := h.Reduce(at(4), store.Buckets[1]).Wait()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it ended with %v, want %q", err, c.want)
			}
		})
	}
}

// A part that does not answer is named once the timeout has passed, and one that is late with nothing
// is left alone.
func TestHookThatHangs(t *testing.T) {
	folder := t.TempDir()
	h, store := hookOf(t, newHost(t, folder, "trainer0", "unix", time.Second), folder, bucketsOf(8),
		func(p *protocoltest.Part, f wire.Header) error {
			if f.Batch == 5 {
				return nil
			}
			f.Op = opReduced
			return p.Send(f)
		})
	h.Join(sdk.Links{})
	if err := h.Reduce(at(4), store.Buckets[0]).Wait(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second + soon)
	err := h.Reduce(at(5), store.Buckets[0]).Wait()
	const want = "trainer0 waited 1 s for the answer to reduce of batch 5, bucket 0 from trainer0.part"
	if err == nil || err.Error() != want {
		t.Errorf("it ended with %v, want %q", err, want)
	}
	if err := h.Reduce(at(6), store.Buckets[0]).Wait(); err == nil || err.Error() != want {
		t.Errorf("the next one ended with %v, want %q", err, want)
	}
}

// still is a group whose operations are done at once, and allocate nothing.
type still struct {
	links
	done *comm.Future
}

func (s *still) Average(int64, *tensor.Bucket) *comm.Future { return s.done }

// askAverage changes the ends of each bucket and asks for its average.
func askAverage(p *protocoltest.Part, f wire.Header) error {
	values := p.Floats(uint8(roleBucket), f.Bucket)
	values[0], values[7] = values[0]+1, values[7]+1
	return p.Send(wire.Header{Op: opAverage, Flags: flagLast, Batch: f.Batch, Bucket: f.Bucket})
}

// BenchmarkReduce is what a hook of a 25 MiB bucket costs beside its operation.
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
