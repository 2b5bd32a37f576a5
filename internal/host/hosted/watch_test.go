package hosted

import (
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// instant is a link whose operations end at once. Like a real link, instant has one future per
// bucket.
type instant struct {
	comm.Group
	promises []*comm.Promise
}

func newInstant(buckets int) *instant {
	l := &instant{}
	for range buckets {
		l.promises = append(l.promises, comm.NewPromise(nil))
	}
	return l
}

func (l *instant) PushPull(_ int64, b *tensor.Bucket) *comm.Future {
	p := l.promises[b.Index]
	p.Begin()
	p.Complete(nil)
	return p.Future()
}
func (l *instant) Average(batch int64, b *tensor.Bucket) *comm.Future { return l.PushPull(batch, b) }
func (l *instant) Barrier() error                                     { return nil }

// reducing is a hook whose Reduce is the test's function.
type reducing func(env *sdk.HookEnv, batch int64, b *tensor.Bucket) *comm.Future

type reducingHook struct {
	env    sdk.HookEnv
	reduce reducing
}

func (h *reducingHook) Reduce(s sdk.HookState, b *tensor.Bucket) *comm.Future {
	return h.reduce(&h.env, s.Batch(), b)
}
func (*reducingHook) Reset() {}

type batchState int64

func (s batchState) Batch() int64           { return int64(s) }
func (s batchState) Key(bucket int) sdk.Key { return sdk.Key{A: int64(s), B: int64(bucket)} }

// A hook that starts an operation and forgets it ends the run. The hook need not return the
// operation's future. The hook may wait for the operation, return a future that waits for it, or
// keep it until the next batch.
func TestAnOperationThatIsForgotten(t *testing.T) {
	done := comm.Completed(nil)
	var kept [2]*comm.Future
	const forgot = "hook reducing, Reduce: it started the operation average of batch 0, bucket 1 on link group, and nobody waited for it: Reduce must return its future, or one that waits for it"
	for name, c := range map[string]struct {
		reduce reducing
		want   string
	}{
		"it returns it": {func(env *sdk.HookEnv, n int64, b *tensor.Bucket) *comm.Future {
			return env.Group.Average(n, b)
		}, ""},
		"it waits for it": {func(env *sdk.HookEnv, n int64, b *tensor.Bucket) *comm.Future {
			return comm.Completed(env.Group.Average(n, b).Wait())
		}, ""},
		"it returns one that waits for it": {func(env *sdk.HookEnv, n int64, b *tensor.Bucket) *comm.Future {
			f := env.Group.Average(n, b)
			p := comm.NewPromise(func() { _ = f.Wait() })
			p.Begin()
			p.Complete(nil)
			return p.Future()
		}, ""},
		"it waits for it in the next batch": {func(env *sdk.HookEnv, n int64, b *tensor.Bucket) *comm.Future {
			if f := kept[b.Index]; f != nil {
				_ = f.Wait()
			}
			kept[b.Index] = env.Group.Average(n, b)
			return done
		}, ""},
		"it starts none": {func(*sdk.HookEnv, int64, *tensor.Bucket) *comm.Future { return done }, ""},
		"it forgets it": {func(env *sdk.HookEnv, n int64, b *tensor.Bucket) *comm.Future {
			f := env.Group.Average(n, b)
			if b.Index == 1 {
				f = done
			}
			return f
		}, forgot},
		"it forgets one of two": {func(env *sdk.HookEnv, n int64, b *tensor.Bucket) *comm.Future {
			if b.Index == 1 {
				env.Group.Average(n, b)
			}
			return env.Server.PushPull(n, b)
		}, forgot},
		"it measures it alone": {func(env *sdk.HookEnv, n int64, b *tensor.Bucket) *comm.Future {
			f := env.Group.Average(n, b)
			f.Observe(env.Recorder.Series("a", "b"), 0, 0, 0)
			if b.Index == 1 {
				return done
			}
			return f
		}, forgot},
	} {
		t.Run(name, func(t *testing.T) {
			kept = [2]*comm.Future{}
			part := sdk.NewHook("reducing", struct{}{}, func(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
				return &reducingHook{env, c.reduce}, nil
			})
			choice := hosttest.Choice("hook", "reducing")
			p := hosttest.Process(t, hosttest.Folder(t), []sdk.Part{part},
				process.Config{Name: "trainer0", Part: choice, Timeout: hosttest.Patience, Transport: "unix"})
			specs := []tensor.BucketSpec{{Elements: 1}, {Index: 1, Elements: 1}}
			h, err := NewHook(p, choice,
				sdk.HookEnv{Buckets: specs, Links: sdk.Links{Server: newInstant(2), Group: newInstant(2)}})
			hosttest.Must(t, err)
			buckets := []*tensor.Bucket{tensor.NewBucket(specs[0]), tensor.NewBucket(specs[1])}
			for range 2 {
				h.Reset() // an operation left by one pass is no error in the next pass
				requirePass(t, h, buckets, c.want)
				if c.want != "" {
					return
				}
			}
		})
	}
}

// requirePass runs three batches. All batches must succeed if want is empty; otherwise the second
// batch must fail with the error want.
func requirePass(t *testing.T, h sdk.Hook, buckets []*tensor.Bucket, want string) {
	t.Helper()
	for batch := range batchState(3) {
		for i, b := range buckets {
			err := h.Reduce(batch, b).Wait()
			switch {
			case want != "" && batch == 1 && i == 1:
				if err == nil || err.Error() != want {
					t.Fatalf("the error is\n%v, want\n%s", err, want)
				}
				return
			case err != nil:
				t.Fatalf("batch %d, bucket %d: %v", batch, i, err)
			}
		}
	}
}
