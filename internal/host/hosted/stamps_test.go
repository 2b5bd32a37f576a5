package hosted

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// stampedHook returns a wrapped hook, the recorder of its process and some buckets.
func stampedHook(t *testing.T, reduce reducing, make func(*process.Process, process.Choice,
	sdk.HookEnv) (sdk.Hook, error)) (sdk.Hook, *sdk.Recorder, []*tensor.Bucket) {
	t.Helper()
	part := sdk.NewHook("reducing", struct{}{}, func(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
		return &reducingHook{env, reduce}, nil
	})
	choice := hosttest.Choice("hook", "reducing")
	p := hosttest.Process(t, hosttest.Folder(t), []sdk.Part{part},
		process.Config{Name: "trainer0", Part: choice, Timeout: hosttest.Patience, Transport: "unix"})
	specs := []tensor.BucketSpec{{Elements: 1}, {Index: 1, Elements: 1}}
	h, err := make(p, choice,
		sdk.HookEnv{Buckets: specs, Links: sdk.Links{Server: newInstant(2), Group: newInstant(2)}})
	hosttest.Must(t, err)
	return h, p.Recorder, []*tensor.Bucket{tensor.NewBucket(specs[0]), tensor.NewBucket(specs[1])}
}

// recorded returns the hook's recorded times, by series name.
func recorded(r *sdk.Recorder) map[string][]sdk.Measurement {
	got := map[string][]sdk.Measurement{}
	for _, s := range r.All().Series {
		if s.Type == record.HookMetric {
			s.Each(func(m sdk.Measurement) { got[s.Name] = append(got[s.Name], m) })
		}
	}
	return got
}

const nap = 3 * time.Millisecond

// The host records the time from a hook's call until the hook first calls any link, on any
// goroutine. The host also records whether that time blocked the trainer.
func TestHooksAreStamped(t *testing.T) {
	type naps struct{ Blocking, Beside int }
	for name, c := range map[string]struct {
		reduce    reducing
		onCaller  naps // expected number of naps if Reduce blocks its caller
		elsewhere naps
	}{
		"it calls a server late": {func(env *sdk.HookEnv, n int64, b *tensor.Bucket) *comm.Future {
			time.Sleep(nap)
			return env.Server.PushPull(n, b)
		}, naps{1, 0}, naps{0, 1}},
		"it calls a group late, and sleeps again": {func(env *sdk.HookEnv, n int64, b *tensor.Bucket) *comm.Future {
			time.Sleep(nap)
			f := env.Group.Average(n, b)
			_ = f.Wait()
			time.Sleep(nap)
			return env.Server.PushPull(n, b)
		}, naps{1, 0}, naps{0, 1}},
		"it calls it on a goroutine": {func(env *sdk.HookEnv, n int64, b *tensor.Bucket) *comm.Future {
			time.Sleep(nap)
			p := comm.NewPromise(nil)
			p.Begin()
			go func() {
				time.Sleep(2 * nap)
				p.Complete(env.Server.PushPull(n, b).Wait())
			}()
			return p.Future()
		}, naps{1, 2}, naps{0, 3}},
		"it calls none": {func(env *sdk.HookEnv, _ int64, b *tensor.Bucket) *comm.Future {
			time.Sleep(nap)
			p := comm.NewPromise(nil)
			p.Begin()
			go func() {
				time.Sleep(nap)
				p.Complete(nil)
			}()
			return p.Future()
		}, naps{1, 1}, naps{0, 2}},
		"it waits at a barrier": {func(env *sdk.HookEnv, n int64, b *tensor.Bucket) *comm.Future {
			time.Sleep(nap)
			_ = env.Group.Barrier()
			time.Sleep(nap)
			return env.Server.PushPull(n, b)
		}, naps{1, 0}, naps{0, 1}},
	} {
		for place, w := range map[string]struct {
			make func(*process.Process, process.Choice, sdk.HookEnv) (sdk.Hook, error)
			want naps
		}{"on the trainer's goroutine": {NewHook, c.onCaller}, "beside it": {NewHookBeside, c.elsewhere}} {
			t.Run(name+", "+place, func(t *testing.T) {
				h, r, buckets := stampedHook(t, c.reduce, w.make)
				for batch := range batchState(2) { // only the next batch shows that the hook called no link
					hosttest.Must(t, h.Reduce(batch, buckets[1]).Wait())
				}
				got := recorded(r)
				for series, naps := range map[string]int{record.HookBlocking: w.want.Blocking,
					record.HookBeside: w.want.Beside} {
					list := got[series]
					if naps == 0 && len(list) > 0 || naps > 0 && len(list) == 0 {
						t.Fatalf("%s: %d stamps, want %d naps", series, len(list), naps)
					}
					if naps == 0 {
						continue
					}
					// Reduce's return is recorded shortly after its nap.
					if m := list[0]; m.Key != (sdk.Key{A: 0, B: 1}) ||
						m.DurationNS < int64(naps)*int64(nap)-int64(nap)/2 {
						t.Errorf("%s is %+v, want %d naps of %v", series, m, naps, nap)
					}
				}
			})
		}
	}
}

// A bucket waits while the hook is busy with another bucket. The waiting time counts for the other
// bucket only.
func TestABucketThatWaitsForTheHook(t *testing.T) {
	h, r, buckets := stampedHook(t, func(env *sdk.HookEnv, n int64, b *tensor.Bucket) *comm.Future {
		f := env.Server.PushPull(n, b)
		time.Sleep(nap) // like a caller that waits for the bucket
		return f
	}, NewHookBeside)
	came := comm.Now()
	for _, b := range buckets {
		hosttest.Must(t, ReduceSince(h, batchState(0), b, came).Wait())
	}
	list := recorded(r)[record.HookBeside]
	if len(list) != 2 || list[0].StartNS != came || list[1].StartNS < came+int64(nap) {
		t.Errorf("bucket 0 came at %d, the stamps are %+v", came, list)
	}
}

// Times that one pass leaves in the stamps do not count for a later pass.
func TestStampsOfAPass(t *testing.T) {
	h, r, buckets := stampedHook(t, func(*sdk.HookEnv, int64, *tensor.Bucket) *comm.Future {
		return comm.Completed(nil)
	}, NewHookBeside)
	hosttest.Must(t, h.Reduce(batchState(7), buckets[0]).Wait())
	h.Reset()
	hosttest.Must(t, h.Reduce(batchState(0), buckets[0]).Wait())
	hosttest.Must(t, h.Reduce(batchState(1), buckets[0]).Wait())
	var keys []sdk.Key
	for _, m := range recorded(r)[record.HookBeside] {
		keys = append(keys, m.Key)
	}
	if d := cmp.Diff([]sdk.Key{{A: 0, B: 0}}, keys); d != "" {
		t.Error(d)
	}
}

// Recording allocates nothing if an earlier pass had the same length.
func TestStampsAllocateNothing(t *testing.T) {
	h, r, buckets := stampedHook(t, func(env *sdk.HookEnv, n int64, b *tensor.Bucket) *comm.Future {
		return env.Server.PushPull(n, b)
	}, NewHook)
	states := make([]sdk.HookState, 200)
	for i := range states {
		states[i] = batchState(i)
	}
	pass := func() {
		for _, s := range states {
			for _, b := range buckets {
				if err := h.Reduce(s, b).Wait(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	reset := testing.AllocsPerRun(5, func() { h.Reset(); r.Reset() })
	if n := testing.AllocsPerRun(5, func() { h.Reset(); r.Reset(); pass() }); n > reset {
		t.Errorf("a pass allocates %v times", n-reset)
	}
}
