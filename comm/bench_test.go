package comm

import (
	"fmt"
	"sync"
	"testing"
)

var benchSizes = []struct {
	name     string
	elements int
}{{"4KiB", 1 << 10}, {"1MiB", 1 << 18}, {"25MiB", 25 << 18}}

// together runs step for every rank at once, each on a goroutine of its own
// that lives for the whole benchmark.
type together struct {
	start []chan struct{}
	done  chan error
	wg    sync.WaitGroup
}

func newTogether(ranks int, step func(rank int) error) *together {
	p := &together{done: make(chan error, ranks)}
	for rank := range ranks {
		start := make(chan struct{})
		p.start = append(p.start, start)
		p.wg.Go(func() {
			for range start {
				p.done <- step(rank)
			}
		})
	}
	return p
}

func (p *together) round(t tb) {
	for _, start := range p.start {
		start <- struct{}{}
	}
	for range p.start {
		must(t, <-p.done)
	}
}

func (p *together) close() {
	for _, start := range p.start {
		close(start)
	}
	p.wg.Wait()
}

// collective is a link to try: reduce runs one operation of one rank, and a
// value v in every gradient becomes want(v).
type collective struct {
	name  string
	specs func(elements int) BucketSpec
	want  func(v float32) float32
	join  func(t tb, spec BucketSpec) func(rank int, batch int64, b *Bucket) *Future
}

const benchRanks = 2

func joinServer(t tb, spec BucketSpec) func(int, int64, *Bucket) *Future {
	specs := []BucketSpec{spec}
	s := newStar(t, benchRanks, specs, patience, newAverager(benchRanks, specs).handle)
	return func(rank int, batch int64, b *Bucket) *Future { return s.links[rank].PushPull(batch, b) }
}

func joinRing(t tb, spec BucketSpec) func(int, int64, *Bucket) *Future {
	rings := newRings(t, benchRanks, patience, same(spec))
	return func(rank int, batch int64, b *Bucket) *Future { return rings[rank].AllReduce(batch, b) }
}

func tableOfRows(elements int) BucketSpec {
	const width = 128
	return sparseSpec(0, elements/width, width, elements/width)
}

func dense(elements int) BucketSpec { return denseSpec(0, elements) }

var collectives = []collective{
	{"pushpull", dense, func(v float32) float32 { return v }, joinServer},
	{"pushpull-sparse", tableOfRows, func(v float32) float32 { return v }, joinServer},
	{"ring", dense, func(v float32) float32 { return benchRanks * v }, joinRing},
	{"ring-sparse", tableOfRows, func(v float32) float32 { return benchRanks * v }, joinRing},
}

// prepare joins the ranks, checks one result and returns the steady state.
func (c collective) prepare(t tb, elements int) *together {
	spec := c.specs(elements)
	reduce := c.join(t, spec)
	var buckets []*Bucket
	batches := make([]int64, benchRanks)
	for range benchRanks {
		b := NewBucket(spec)
		if spec.Sparse {
			must(t, b.Gradient.SetRows(spec.TableRows))
			for i := range b.Gradient.Rows {
				b.Gradient.Rows[i] = int32(i)
			}
		}
		for i := range b.Gradient.Values {
			b.Gradient.Values[i] = float32(i % 100)
		}
		buckets = append(buckets, b)
	}
	p := newTogether(benchRanks, func(rank int) error {
		batches[rank]++
		return reduce(rank, batches[rank]-1, buckets[rank]).Wait()
	})
	t.Cleanup(p.close)
	p.round(t)
	for rank, b := range buckets {
		for i, v := range b.Gradient.Values {
			if v != c.want(float32(i%100)) {
				t.Fatalf("%s: rank %d has %g at %d, want %g", c.name, rank, v, i, c.want(float32(i%100)))
			}
			b.Gradient.Values[i] = 0 // sums of the rounds to come stay finite
		}
	}
	return p
}

func BenchmarkCollectives(b *testing.B) {
	for _, c := range collectives {
		for _, size := range benchSizes {
			b.Run(fmt.Sprintf("%s/%s", c.name, size.name), func(b *testing.B) {
				p := c.prepare(b, size.elements)
				b.SetBytes(int64(4 * size.elements))
				b.ReportAllocs()
				for b.Loop() {
					p.round(b)
				}
			})
		}
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for _, c := range collectives {
		for _, size := range benchSizes[:2] {
			p := c.prepare(t, size.elements)
			if allocs := testing.AllocsPerRun(50, func() { p.round(t) }); allocs != 0 {
				t.Errorf("%s of %s allocates %g times per round, want 0", c.name, size.name, allocs)
			}
		}
	}
}
