package hosted

import (
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// stamps records how long a hook has each bucket before it first calls a link for it. A hook may
// call links on goroutines of its own. Recording allocates nothing.
type stamps struct {
	blocking *sdk.Series // nil if no trainer is blocked until Reduce returns
	beside   *sdk.Series
	handed   []handed // by bucket
	freeNS   int64    // when Reduce last returned; only Reduce's caller uses it
}

// handed is the state of a bucket that was handed to a hook.
type handed struct {
	mu       sync.Mutex
	sinceNS  int64 // 0 once the hook has called a link
	key      sdk.Key
	blocking bool         // whether Reduce is still running
	future   *comm.Future // returned by the last Reduce
}

// newStamps makes the stamps of a hook. onTrainer says that Reduce runs on, and so blocks, the
// trainer's goroutine.
func newStamps(env *sdk.HookEnv, onTrainer bool) *stamps {
	s := &stamps{beside: env.Recorder.Series(record.HookMetric, record.HookBeside),
		handed: make([]handed, len(env.Buckets))}
	if onTrainer {
		s.blocking = env.Recorder.Series(record.HookMetric, record.HookBlocking)
	}
	return s
}

// of returns the state of a bucket, or nil for an unknown bucket.
func (s *stamps) of(b *tensor.Bucket) *handed {
	if b.Index < 0 || b.Index >= len(s.handed) {
		return nil
	}
	return &s.handed[b.Index]
}

// hand records that the hook gets a bucket that was complete at cameNS. Time during which the hook
// was busy with another bucket counts only for the other bucket.
func (s *stamps) hand(batch int64, b *tensor.Bucket, cameNS int64) {
	h := s.of(b)
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sinceNS != 0 && h.future != nil { // the hook called no link for this bucket in the batch before
		s.beside.Record(h.key, h.sinceNS, max(h.sinceNS, h.future.EndNS()))
	}
	h.sinceNS, h.key, h.blocking, h.future = max(cameNS, s.freeNS), sdk.Key{A: batch,
		B: int64(b.Index)}, s.blocking != nil, nil
}

// returned records that Reduce has returned a future.
func (s *stamps) returned(b *tensor.Bucket, f *comm.Future) {
	s.freeNS = comm.Now()
	h := s.of(b)
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sinceNS != 0 && h.blocking {
		s.blocking.Record(h.key, h.sinceNS, s.freeNS)
		h.sinceNS = s.freeNS
	}
	h.blocking, h.future = false, f
}

// called records that the hook calls a link for a bucket.
func (s *stamps) called(b *tensor.Bucket) {
	if h := s.of(b); h != nil {
		s.end(h)
	}
}

// calledAll records a call that belongs to no bucket, such as a barrier.
func (s *stamps) calledAll() {
	for i := range s.handed {
		s.end(&s.handed[i])
	}
}

func (s *stamps) end(h *handed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sinceNS == 0 {
		return
	}
	series := s.beside
	if h.blocking {
		series = s.blocking
	}
	series.Record(h.key, h.sinceNS, comm.Now())
	h.sinceNS = 0
}

// reset clears the state of an earlier pass.
func (s *stamps) reset() {
	for i := range s.handed {
		h := &s.handed[i]
		h.mu.Lock()
		h.sinceNS, h.future = 0, nil
		h.mu.Unlock()
	}
}
