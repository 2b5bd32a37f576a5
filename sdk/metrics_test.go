package sdk

import (
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/psbench/psbench/comm"
)

// many is a number of measurements that needs several chunks of storage.
const many = 20_000

func TestRecorderKeepsOrder(t *testing.T) {
	r := &Recorder{}
	s := r.Series("forward_metric", "forward_pass")
	if r.Series("forward_metric", "forward_pass") != s || r.Series("backward_metric", "backward") == s {
		t.Error("a series is not found by its type and name")
	}
	const n = many
	for pass := range int64(2) {
		for i := range int64(n) {
			s.Record(Key{pass, i}, 10*i, 10*i+pass)
		}
		i := int64(0)
		s.Each(func(m Measurement) {
			if m != (Measurement{Key{pass, i}, 10 * i, pass}) {
				t.Fatalf("pass %d, place %d holds %+v", pass, i, m)
			}
			i++
		})
		if i != n {
			t.Errorf("pass %d kept %d of %d", pass, i, n)
		}
		r.Reset()
		s.Each(func(m Measurement) { t.Fatalf("%+v is left after a reset", m) })
	}
}

func TestSecondPassAllocatesNothing(t *testing.T) {
	r := &Recorder{}
	s := r.Series("a", "b")
	pass := func() {
		s.reset()
		for i := range int64(many) {
			s.Record(Key{A: i}, i, i)
		}
	}
	pass()
	if n := testing.AllocsPerRun(5, pass); n != 0 {
		t.Errorf("a second pass allocates %v times", n)
	}
}

func TestRecorderIsConcurrent(t *testing.T) {
	r := &Recorder{}
	const writers, each = 4, 3000
	var group sync.WaitGroup
	for w := range int64(writers) {
		group.Go(func() {
			for i := range int64(each) {
				r.Series("type", "name").Record(Key{w, i}, i, i)
			}
		})
	}
	group.Wait()
	next := make([]int64, writers) // each writer's records must be complete and in order
	r.Series("type", "name").Each(func(m Measurement) {
		if m.Key.B != next[m.Key.A] {
			t.Fatalf("writer %d's record %d comes where %d is due", m.Key.A, m.Key.B, next[m.Key.A])
		}
		next[m.Key.A]++
	})
	if !slices.Equal(next, []int64{each, each, each, each}) {
		t.Errorf("the writers recorded %v", next)
	}
}

// BenchmarkRecordPair measures the cost of one measurement: two clock readings and a record.
func BenchmarkRecordPair(b *testing.B) {
	s := (&Recorder{}).Series("type", "name")
	for i := range b.N { // first allocate the storage for a pass of this length
		s.Record(Key{A: int64(i)}, 0, 0)
	}
	s.reset()
	b.ReportAllocs()
	b.ResetTimer()
	first := comm.Now()
	for i := range b.N {
		start := comm.Now()
		s.Record(Key{A: int64(i)}, start, comm.Now())
	}
	b.StopTimer()
	end := comm.Now()
	count, last := int64(0), first
	s.Each(func(m Measurement) {
		if m.Key.A != count || m.StartNS < last || m.DurationNS < 0 {
			b.Fatalf("record %d is %+v, after %d", count, m, last)
		}
		count, last = count+1, m.StartNS+m.DurationNS
	})
	if count != int64(b.N) || last > end {
		b.Fatalf("%d of %d records, the last one at %d of %d", count, b.N, last, end)
	}
}

// Snapshots are consistent while recording continues. A goroutine records in one series and then in
// another, so no snapshot may have more records in the second series than in the first.
func TestSnapshotsAreOfOneMoment(t *testing.T) {
	r := &Recorder{}
	first, second := r.Series("a", "first"), r.Series("a", "second")
	var group sync.WaitGroup
	group.Go(func() {
		for i := range int64(many) {
			first.Record(Key{A: i}, i, i)
			second.Record(Key{A: i}, i, i)
		}
	})
	for n := 0; n < many; {
		var lengths []int
		for _, s := range r.All().Series {
			n = 0
			s.Each(func(m Measurement) {
				if m.Key.A != int64(n) {
					t.Fatalf("place %d of %s holds %+v", n, s.Name, m)
				}
				n++
			})
			lengths = append(lengths, n)
		}
		if ahead := lengths[0] - lengths[1]; ahead != 0 && ahead != 1 {
			t.Fatalf("the series have %v measurements", lengths)
		}
	}
	group.Wait()
}

// A measurement takes less than 16 bytes of a rank's memory, overhead included.
func TestMemoryOfARecorder(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	r := &Recorder{}
	before := heap()
	const iterations = 250_000
	at := int64(1e15)
	for i := range int64(iterations) {
		start, vary := at, i*7919%4096 // ns, scattered like real measurements
		for part, name := range []string{"forward", "backward", "communication", "optimizer"} {
			ns := 200_000 + int64(part)*10_000 + vary*vary%100_000
			r.Series("iteration_metric", name).Record(Key{i / 10, i % 10}, at, at+ns)
			at += ns
		}
		r.Series("batch_level_metric", "batch_all").Record(Key{i / 10, i % 10}, start, at)
	}
	if each := float64(heap()-before) / (5 * iterations); each >= 16 || each < 4 {
		t.Errorf("a measurement takes %.1f bytes", each)
	}
	runtime.KeepAlive(r)
}

// Finding a series takes constant time, however many there are. With a linear search, this test
// would take minutes.
func TestManySeriesAreFound(t *testing.T) {
	r := &Recorder{}
	const number = 100_000
	for pass := range 2 {
		for i := range number {
			if s := r.Series("a", strconv.Itoa(i)); s.Name != strconv.Itoa(i) {
				t.Fatalf("pass %d: %s is found for %d", pass, s.Name, i)
			}
		}
	}
	if n := len(r.All().Series); n != number || r.Err() != nil {
		t.Errorf("there are %d series, and %v", n, r.Err())
	}
}
