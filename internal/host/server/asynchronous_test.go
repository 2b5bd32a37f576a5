package server

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk"
)

// echo is a server that answers each push at once with the pushed gradient.
type echo struct{}

func (echo) Reset()                   {}
func (echo) Receive(p sdk.Push) error { return p.Answer(p.Gradient) }

// Trainers of an asynchronous server may have different numbers of batches. The host forgets a
// batch when it is answered. So no round waits for trainers that never push, a push allocates
// nothing, and only its measurement stays.
func TestUnequalCountsOfBatches(t *testing.T) {
	counts := []int{3, 500, 7000}
	const half = 3500
	specs := []tensor.BucketSpec{{Elements: 2},
		{Index: 1, Elements: 4, Sparse: true, TableRows: 2, Width: 2, Capacity: 2}}
	for _, transport := range []string{"shm", "unix"} {
		role, links, stores := openServer(t, transport, sdk.Asynchronous(whole(echo{})), specs, len(counts),
			hosttest.Patience)
		run := func(trainer, from, to int) {
			for batch := from; batch < to; batch++ {
				for _, b := range stores[trainer].Buckets {
					if err := links[trainer].PushPull(int64(batch), b).Wait(); err != nil {
						t.Errorf("%s, trainer %d, batch %d: %v", transport, trainer, batch, err)
						return
					}
				}
			}
		}
		measured := func(batches int) {
			role.awaitAnswers()
			if got := len(timesOf(role, "param_index_batch")); got != 2*batches {
				t.Errorf("%s: %d pushes of %d batches are measured", transport, got, batches)
			}
		}
		var others sync.WaitGroup
		for trainer, n := range counts[:2] {
			others.Go(func() { run(trainer, 0, n) })
		}
		run(2, 0, half)
		others.Wait()
		measured(3 + 500 + half)
		role.Recorder.Reset() // keeps storage for the second half
		before := memory()
		run(2, half, counts[2])
		role.awaitAnswers()
		after := memory()
		const pushes = 2 * (7000 - half)
		if n := after.Mallocs - before.Mallocs; n > pushes/10 {
			t.Errorf("%s: %d pushes made %d allocations", transport, pushes, n)
		}
		if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n > 4*pushes {
			t.Errorf("%s: %d bytes of %d pushes live on", transport, n, pushes)
		}
		for i := range role.buckets {
			if rounds := role.buckets[i].rounds; len(rounds) > 0 {
				t.Errorf("%s: %d rounds of bucket %d are kept", transport, len(rounds), i)
			}
		}
		measured(counts[2] - half)
	}
}

// memory returns the runtime's memory statistics after a garbage collection.
func memory() runtime.MemStats {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // empties pools
	runtime.ReadMemStats(&m)
	return m
}

// An asynchronous server measures each push separately, until its own answer. An asynchronous
// server has no stragglers.
func TestAsynchronousMetrics(t *testing.T) {
	s := newFixture(t, 2, hosttest.Patience, sdk.Asynchronous)
	f0, slow := s.push(0, 7)
	f1, quick := s.push(1, 4)
	hosttest.Must(t, quick.Answer(quick.Gradient))
	hosttest.Must(t, f1.Wait())
	answering := comm.Now()
	hosttest.Must(t, slow.Answer(slow.Gradient))
	hosttest.Must(t, f0.Wait())
	got := s.times("param_index_batch")
	slices.SortFunc(got, func(a, b sdk.Measurement) int { return cmp.Compare(a.Key.A, b.Key.A) })
	if len(got) != 2 || got[0].Key != (sdk.Key{A: 4}) || got[1].Key != (sdk.Key{A: 7}) {
		t.Fatalf("measured %v", got)
	}
	if end := got[0].StartNS + got[0].DurationNS; got[1].StartNS > got[0].StartNS || end > answering ||
		got[1].StartNS+got[1].DurationNS < answering {
		t.Errorf("the answers came before and after %d, but the pushes took %v", answering, got)
	}
	for _, series := range s.role.Recorder.All().Series {
		if series.Name == "param_index_straggler" {
			t.Error("there is a series of stragglers")
		}
	}
}

// A trainer without remaining batches is not overdue, however long others wait for the server. A
// trainer that still pushes is not overdue either.
func TestEndedTrainersAreNotOverdue(t *testing.T) {
	s := newFixture(t, 3, hosttest.Patience, sdk.Asynchronous)
	hosttest.Must(t, s.role.Expect([]int{1, 9, 9}))
	f, last := s.push(0, 0)
	hosttest.Must(t, last.Answer(last.Gradient))
	hosttest.Must(t, f.Wait())
	s.push(1, 0)
	if err := s.role.overdue(&s.role.buckets[0], late()); err == nil ||
		!strings.HasSuffix(err.Error(), "of batch 0, bucket 0 from trainer2") {
		t.Errorf("overdue says %v", err)
	}
	f, going := s.push(2, 0)
	hosttest.Must(t, going.Answer(going.Gradient))
	hosttest.Must(t, f.Wait())
	if err := s.role.overdue(&s.role.buckets[0], late()); err != nil {
		t.Errorf("nobody is waited for, but: %v", err)
	}
	if err := s.role.Expect([]int{1}); err == nil ||
		err.Error() != "server9 got the batch counts of 1 trainers but has 3 trainers" {
		t.Errorf("told of one trainer: %v", err)
	}
}

// An answer without a waiting push ends the run, even if the server ignores the error. Pushes in
// flight stay unanswered.
func TestAnswersThatNobodyWaitsFor(t *testing.T) {
	for _, c := range []struct {
		name, want string
		declared   bool
		do         func(t *testing.T, s *fixture) (wrong sdk.Push)
	}{
		{"twice", "answered batch 5, bucket 0 of trainer1 twice", true, func(t *testing.T, s *fixture) sdk.Push {
			f, p := s.push(1, 5)
			hosttest.Must(t, p.Answer(p.Gradient))
			hosttest.Must(t, f.Wait())
			return p
		}},
		{"in another round", "answered batch 5, bucket 0 of trainer1 once more, while batch 6 is in flight", true,
			func(t *testing.T, s *fixture) sdk.Push {
				f, p := s.push(1, 5)
				hosttest.Must(t, p.Answer(p.Gradient))
				hosttest.Must(t, f.Wait())
				s.push(1, 6)
				return p
			}},
		{"after the pass", "answered batch 5, bucket 0 of trainer1 once more, after the pass of that push was over",
			true, func(t *testing.T, s *fixture) sdk.Push {
				f, p := s.push(1, 5)
				hosttest.Must(t, p.Answer(p.Gradient))
				hosttest.Must(t, f.Wait())
				hosttest.Must(t, s.role.Reset())
				s.push(1, 5)
				return p
			}},
		{"after the trainer has left", "answered batch 5, bucket 0 of trainer1 twice", true,
			func(t *testing.T, s *fixture) sdk.Push {
				f, p := s.push(1, 5)
				hosttest.Must(t, p.Answer(p.Gradient))
				hosttest.Must(t, f.Wait())
				hosttest.Must(t, s.links[1].Close())
				return p
			}},
		{"with nil", "answered batch 5, bucket 0 of trainer1 with no gradient: it is nil", true,
			func(_ *testing.T, s *fixture) sdk.Push {
				_, p := s.push(1, 5)
				return p
			}},
		{"before all have come",
			"answered batch 5, bucket 0 of trainer1 before trainer0 and trainer2 had pushed it, which a server must declare (sdk.Asynchronous)",
			false, func(_ *testing.T, s *fixture) sdk.Push {
				_, p := s.push(1, 5)
				return p
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			declared := []func(sdk.Part) sdk.Part{sdk.Asynchronous}
			if !c.declared {
				declared = nil
			}
			s := newFixture(t, 3, hosttest.Patience, declared...)
			p := c.do(t, s)
			waiting := s.role.buckets[0].slots[1].pending
			answer := p.Gradient
			if c.name == "with nil" {
				answer = nil
			}
			err, told := p.Answer(answer), hosttest.Failure(t, s.role.Process)
			if err == nil || err.Error() != "server tested "+c.want || told.Error() != "server9: "+err.Error() {
				t.Errorf("Answer gives %v\nand %v is told", err, told)
			}
			if s.role.buckets[0].slots[1].pending != waiting {
				t.Error("the push that is in flight is not any more")
			}
		})
	}
}

// A server of parameters answers batch 0 at once, because batch 0 only fetches the parameters. From
// batch 1 on, the server waits for all trainers.
func TestServersOfParametersAnswerFetches(t *testing.T) {
	s := newFixture(t, 2, hosttest.Patience)
	s.role.buckets[0].fetches = true
	f, p := s.push(1, 0)
	hosttest.Must(t, p.Answer(p.Gradient))
	hosttest.Must(t, f.Wait())
	_, p = s.push(1, 1)
	const want = "server tested answered batch 1, bucket 0 of trainer1 before trainer0 had pushed it, which a server must declare (sdk.Asynchronous)"
	if err := p.Answer(p.Gradient); err == nil || err.Error() != want {
		t.Errorf("an answer to a report gives %v", err)
	}
}
