package hooks

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/sdk"
)

// link records the operations that it gets and completes an operation on request. As a server it answers with the
// average, as a group with the sum.
type link struct {
	size    int
	batches []int64
	values  [][]float32 // values at the start of the operation
	promise *comm.Promise
	late    bool // the operation stays pending
	began   chan struct{}
}

func newLink(size int) *link {
	return &link{size: size, promise: comm.NewPromise(nil), began: make(chan struct{}, 1)}
}

func (l *link) PushPull(batch int64, b *tensor.Bucket) *comm.Future {
	l.batches = append(l.batches, batch)
	l.values = append(l.values, append([]float32(nil), b.Gradient.Values...))
	l.promise.Begin()
	l.began <- struct{}{}
	if !l.late {
		l.promise.Complete(nil)
	}
	return l.promise.Future()
}

func (l *link) Average(batch int64, b *tensor.Bucket) *comm.Future {
	f := l.PushPull(batch, b)
	for i := range b.Gradient.Values {
		b.Gradient.Values[i] /= float32(l.size)
	}
	return f
}
func (l *link) Size() int     { return l.size }
func (l *link) Position() int { return 0 }

// No hook uses these.
func (l *link) AllReduce(int64, *tensor.Bucket) *comm.Future      { return comm.Completed(errUnused) }
func (l *link) Broadcast(int64, *tensor.Bucket, int) *comm.Future { return comm.Completed(errUnused) }
func (l *link) Barrier() error                                    { return errUnused }

func (l *link) ReduceScatter(int64, *tensor.Bucket) *comm.Future { return comm.Completed(errUnused) }
func (l *link) AllGather(int64, *tensor.Bucket) *comm.Future     { return comm.Completed(errUnused) }
func (l *link) AllToAll(int64, *tensor.Bucket) *comm.Future      { return comm.Completed(errUnused) }

var errUnused = errors.New("no hook sums, broadcasts, scatters or waits at a barrier")

// state is at batch 5 and has keys that a hook can only get from the hook state.
type state struct{}

func (state) Batch() int64           { return 5 }
func (state) Key(bucket int) sdk.Key { return sdk.Key{A: 50, B: int64(bucket)} }

func bucket(sparse bool) *tensor.Bucket {
	b := &tensor.Bucket{BucketSpec: tensor.BucketSpec{Index: 1, Sparse: sparse},
		Gradient: tensor.Gradient{Values: []float32{4, 8}}}
	if sparse {
		b.Gradient.Rows, b.Gradient.Width = []int32{3}, 2
	}
	return b
}

var makers = map[string]func(noSettings, sdk.HookEnv) (sdk.Hook, error){
	"allreduce": newAllreduce, "hybrid": newHybrid, "rpc": newRPC, "sparse_rpc": newSparseRPC, "noop": newNoop,
}

func TestHooks(t *testing.T) {
	// The group has four members, so averaging divides by 4. The server here echoes its input.
	divided, whole := []float32{1, 2}, []float32{4, 8}
	for _, c := range []struct {
		hook   string
		sparse bool
		over   string    // the link that carries the bucket
		left   []float32 // values that remain in the bucket
		series string
	}{
		{"allreduce", false, "group", divided, "hook_future_metric,gloo_dense_allreduce"},
		{"allreduce", true, "group", divided, "hook_future_metric,gloo_sparse_allreduce"},
		{"hybrid", false, "group", divided, "hook_future_metric,gloo_dense_allreduce"},
		{"hybrid", true, "default", divided, "hook_c10d_metric,gloo_sparse_allreduce"},
		{"rpc", false, "server", whole, "hook_future_metric,rpc_dense"},
		{"rpc", true, "server", whole, "hook_future_metric,rpc_sparse"},
		{"sparse_rpc", false, "group", divided, "hook_future_metric,gloo_dense_allreduce"},
		{"sparse_rpc", true, "server", whole, "hook_future_metric,rpc_sparse"},
		{"noop", false, "", whole, ""},
		{"noop", true, "", whole, ""},
	} {
		t.Run(c.hook, func(t *testing.T) {
			links := map[string]*link{"server": newLink(0), "group": newLink(4), "default": newLink(4)}
			rec := &sdk.Recorder{}
			h, err := makers[c.hook](noSettings{}, sdk.HookEnv{
				Links:    sdk.Links{Server: links["server"], Group: links["group"], Default: links["default"]},
				Recorder: rec,
			})
			if err != nil {
				t.Fatal(err)
			}
			b := bucket(c.sparse)
			before := comm.Now()
			f := h.Reduce(state{}, b)
			if err := f.Wait(); err != nil {
				t.Fatal(err)
			}
			after := comm.Now()
			for name, l := range links {
				var want []int64
				if name == c.over {
					want = []int64{5}
				}
				if d := cmp.Diff(want, l.batches); d != "" {
					t.Errorf("%s, sparse %v: over the %s: %s", c.hook, c.sparse, name, d)
				}
			}
			if l := links[c.over]; l != nil {
				if d := cmp.Diff(whole, l.values[0]); d != "" {
					t.Errorf("%s, sparse %v, sent %s", c.hook, c.sparse, d)
				}
			}
			if d := cmp.Diff(c.left, b.Gradient.Values); d != "" {
				t.Errorf("%s, sparse %v, left %s", c.hook, c.sparse, d)
			}
			requireRecorded(t, rec, c.series, before, after, f.EndNS())
		})
	}
}

// requireRecorded requires that only this series has a measurement: one, under the hook state's key, that ends with
// the future.
func requireRecorded(t *testing.T, rec *sdk.Recorder, series string, before, after, end int64) {
	t.Helper()
	got := map[string][]sdk.Measurement{}
	for _, s := range rec.All().Series {
		s.Each(func(m sdk.Measurement) { got[s.Type+","+s.Name] = append(got[s.Type+","+s.Name], m) })
	}
	if series == "" {
		if len(got) != 0 {
			t.Errorf("a hook without communication recorded %v", got)
		}
		return
	}
	if len(got) != 1 || len(got[series]) != 1 {
		t.Errorf("recorded %v, want one of %s", got, series)
		return
	}
	m := got[series][0]
	if m.Key != (sdk.Key{A: 50, B: 1}) || m.StartNS < before || m.StartNS+m.DurationNS != end || end > after {
		t.Errorf("%s is %+v, which does not end at %d", series, m, end)
	}
}

// A hook must return early wherever the original's hook does: backward continues during the transfers. Only the
// hybrid hook blocks, on sparse buckets.
func TestHooksReturnWhileTheOperationRuns(t *testing.T) {
	for name, blocks := range map[string]bool{"allreduce": false, "rpc": false, "sparse_rpc": false, "hybrid": true} {
		l := newLink(2)
		l.late = true
		h, err := makers[name](noSettings{},
			sdk.HookEnv{Links: sdk.Links{Server: l, Group: l, Default: l}, Recorder: &sdk.Recorder{}})
		if err != nil {
			t.Fatal(err)
		}
		if !blocks {
			f := h.Reduce(state{}, bucket(true))
			l.promise.Complete(nil)
			if err := f.Wait(); err != nil {
				t.Error(err)
			}
			continue
		}
		returned := make(chan int64)
		go func() {
			h.Reduce(state{}, bucket(true))
			returned <- comm.Now()
		}()
		<-l.began
		select {
		case <-returned:
			t.Errorf("%s returned before the operation ended", name)
		default:
			l.promise.Complete(nil)
			if at := <-returned; at < l.promise.Future().EndNS() {
				t.Errorf("%s returned before the operation ended", name)
			}
		}
	}
}

func TestFailuresAreNotRecorded(t *testing.T) {
	lost := errors.New("the link is gone")
	for name, make := range makers {
		t.Run(name, func(t *testing.T) {
			if name == "noop" {
				return
			}
			l := &broken{lost}
			rec := &sdk.Recorder{}
			h, err := make(noSettings{}, sdk.HookEnv{Links: sdk.Links{Server: l, Group: l, Default: l}, Recorder: rec})
			if err != nil {
				t.Fatal(err)
			}
			for _, sparse := range []bool{false, true} {
				if err := h.Reduce(state{}, bucket(sparse)).Wait(); !errors.Is(err, lost) {
					t.Errorf("%s: a broken link gave %v", name, err)
				}
			}
			for _, s := range rec.All().Series {
				s.Each(func(m sdk.Measurement) { t.Errorf("%s recorded %+v in %s", name, m, s.Name) })
			}
		})
	}
}

// broken is a link that fails every operation.
type broken struct{ err error }

func (l *broken) ReduceScatter(int64, *tensor.Bucket) *comm.Future { return comm.Completed(l.err) }
func (l *broken) AllGather(int64, *tensor.Bucket) *comm.Future     { return comm.Completed(l.err) }
func (l *broken) AllToAll(int64, *tensor.Bucket) *comm.Future      { return comm.Completed(l.err) }

func (l *broken) PushPull(int64, *tensor.Bucket) *comm.Future  { return comm.Completed(l.err) }
func (l *broken) AllReduce(int64, *tensor.Bucket) *comm.Future { return comm.Completed(l.err) }
func (l *broken) Average(int64, *tensor.Bucket) *comm.Future   { return comm.Completed(l.err) }
func (l *broken) Broadcast(int64, *tensor.Bucket, int) *comm.Future {
	return comm.Completed(l.err)
}
func (l *broken) Barrier() error { return l.err }
func (l *broken) Size() int      { return 2 }
func (l *broken) Position() int  { return 0 }

// A batch may touch no row of a table, and a bucket may have no rows left.
func TestEmptySparseGradient(t *testing.T) {
	spec := tensor.BucketSpec{Elements: 8, Sparse: true, TableRows: 4, Width: 2, Capacity: 4}
	fabric, err := fabric.Open("unix")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := fabric.NewGroup(wire.Links{Self: "trainer0", Conns: make([]*wire.Conn, 1), Timeout: 1}, make([]int, 1),
		0, comm.NewStore([]tensor.BucketSpec{spec}))
	if err != nil {
		t.Fatal(err)
	}
	h, err := newAllreduce(noSettings{}, sdk.HookEnv{Links: sdk.Links{Group: ring}, Recorder: &sdk.Recorder{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Reduce(state{}, tensor.NewBucket(spec)).Wait(); err != nil {
		t.Error(err)
	}
}

func TestParts(t *testing.T) {
	for _, p := range Parts() {
		if p.Kind != sdk.KindHook || makers[p.Key] == nil {
			t.Errorf("%s %s has no test", p.Kind, p.Key)
		}
	}
	if len(Parts()) != len(makers) {
		t.Errorf("%d hooks are offered, %d tested", len(Parts()), len(makers))
	}
}
