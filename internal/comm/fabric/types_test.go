package fabric

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
)

// elements reads and writes whole numbers as the elements of a bucket.
func elements(b *tensor.Bucket) (get func(i int) int, put func(i, v int)) {
	words := b.Gradient.Values
	switch b.Type {
	case tensor.Float16:
		x := tensor.As[uint16](words)
		return func(i int) int { return int(vec.FromFloat16(x[i])) },
			func(i, v int) { x[i] = vec.ToFloat16(float32(v)) }
	case tensor.BFloat16:
		x := tensor.As[uint16](words)
		return func(i int) int { return int(vec.FromBFloat16(x[i])) },
			func(i, v int) { x[i] = vec.ToBFloat16(float32(v)) }
	case tensor.Int32:
		return integers(tensor.As[int32](words))
	case tensor.Int64:
		return integers(tensor.As[int64](words))
	case tensor.Int8:
		return integers(tensor.As[int8](words))
	case tensor.Uint8:
		return integers(tensor.As[uint8](words))
	}
	return integers(words)
}

func integers[T float32 | int32 | int64 | int8 | uint8](x []T) (get func(i int) int, put func(i, v int)) {
	return func(i int) int { return int(x[i]) }, func(i, v int) { x[i] = T(v) }
}

// typed is a collective and its reference, which cuts buckets itself, at whole words. Want returns element e of member
// i's result in a group of this size; ok is false if the element is undefined.
type typed struct {
	name  string
	sums  bool
	start func(l comm.GroupLink, batch int64, b *tensor.Bucket) *comm.Future
	want  func(value func(member, e int) int, spec tensor.BucketSpec, size, i, e int) (v int, ok bool)
}

func sumOf(value func(member, e int) int, size, e int) (sum int) {
	for m := range size {
		sum += value(m, e)
	}
	return sum
}

// grain is the number of elements in the least run of whole words.
func grain(t tensor.Type) int { return max(1, 4/t.Bytes()) }

// owner is the member whose shard has element e.
func owner(spec tensor.BucketSpec, size, e int) int {
	grain := grain(spec.Type)
	units := (spec.Elements + grain - 1) / grain
	for m := range size {
		if e/grain < (m+1)*units/size {
			return m
		}
	}
	panic("no member has the element")
}

var typedOperations = []typed{
	{"all-reduce", true, comm.GroupLink.AllReduce,
		func(value func(m, e int) int, _ tensor.BucketSpec, size, _, e int) (int, bool) {
			return sumOf(value, size, e), true
		}},
	{"reduce-scatter", true, comm.GroupLink.ReduceScatter,
		func(value func(m, e int) int, spec tensor.BucketSpec, size, i, e int) (int, bool) {
			return sumOf(value, size, e), owner(spec, size, e) == i
		}},
	{"all-gather", false, comm.GroupLink.AllGather,
		func(value func(m, e int) int, spec tensor.BucketSpec, size, _, e int) (int, bool) {
			return value(owner(spec, size, e), e), true
		}},
	{"broadcast", false, func(l comm.GroupLink, batch int64, b *tensor.Bucket) *comm.Future {
		return l.Broadcast(batch, b, l.Size()-1)
	}, func(value func(m, e int) int, _ tensor.BucketSpec, size, _, e int) (int, bool) {
		return value(size-1, e), true
	}},
	{"all-to-all", false, comm.GroupLink.AllToAll,
		func(value func(m, e int) int, spec tensor.BucketSpec, size, i, e int) (int, bool) {
			block := spec.Elements / grain(spec.Type) / size * grain(spec.Type)
			if e >= block*size {
				return value(i, e), true
			}
			return value(e/block, i*block+e%block), true
		}},
}

// Collectives of every type give the elements of plain loops, on one host and several, in place and copied, also
// where elements do not fill the last word.
func TestCollectivesCarryEveryType(t *testing.T) {
	overTransports(t, func(t *testing.T, f *Fabric) {
		commtest.Check(t, func(t *rapid.T) {
			size := rapid.IntRange(1, 5).Draw(t, "size")
			var specs []tensor.BucketSpec
			for k, most := range []int{9, 30_000, 3 * ringBlock} {
				specs = append(specs, tensor.BucketSpec{Index: k, Elements: rapid.IntRange(0, most).Draw(t, "elements"),
					Type: rapid.SampledFrom(tensor.Types).Draw(t, "type")})
			}
			hosts := rapid.SliceOfN(rapid.IntRange(0, 2), size, size).Draw(t, "hosts")
			g := joinGroup(t, f, hosts, linktest.Patience, specs...)
			for batch, k := range []int{0, 1, 2, 1, 0} {
				o := rapid.SampledFrom(typedOperations).Draw(t, "operation")
				if spec := specs[k]; !o.sums || spec.Type.Sums() {
					g.requireTyped(t, o, int64(batch), spec)
				}
			}
		})
	})
}

func (g *group) requireTyped(t *rapid.T, o typed, batch int64, spec tensor.BucketSpec) {
	seed := rapid.IntRange(0, 1000).Draw(t, "seed")
	value := func(member, e int) int { return (7*member + 3*e + seed) % 16 } // sums fit each type
	buckets := make([]*tensor.Bucket, len(g.links))
	for i := range buckets {
		buckets[i] = place(g.stores[i], spec.Index, rapid.Bool().Draw(t, "copied"))
		_, put := elements(buckets[i])
		for e := range spec.Elements {
			put(e, value(i, e))
		}
	}
	commtest.Must(t, g.all(func(i int, l comm.GroupLink) *comm.Future { return o.start(l, batch, buckets[i]) }))
	for i, b := range buckets {
		get, _ := elements(b)
		for e := range spec.Elements {
			if want, ok := o.want(value, spec, len(buckets), i, e); ok && get(e) != want {
				t.Fatalf("%s of %d elements of %s among %d: element %d of member %d is %d instead of %d", o.name,
					spec.Elements, spec.Type, len(buckets), e, i, get(e), want)
			}
		}
	}
}

// On one host a sum of 16-bit elements rounds once. Of 256 and three ones each addition of a pair would lose the one.
func TestSumsOf16BitsRoundOnce(t *testing.T) {
	for _, c := range []struct {
		spec       tensor.BucketSpec
		first, sum int
	}{
		{tensor.BucketSpec{Type: tensor.BFloat16}, 256, 260}, // steps of 2 from 256 on
		{tensor.BucketSpec{Type: tensor.Float16}, 2048, 2052},
	} {
		for _, count := range []int{9, 3_001, 70_001} {
			t.Run(fmt.Sprint(c.spec.Type, count), func(t *testing.T) {
				c.spec.Elements = count
				g := joinGroup(t, Default(), make([]int, 4), linktest.Patience, c.spec)
				for batch, start := range []func(l comm.GroupLink, b *tensor.Bucket) *comm.Future{
					func(l comm.GroupLink, b *tensor.Bucket) *comm.Future { return l.AllReduce(0, b) },
					func(l comm.GroupLink, b *tensor.Bucket) *comm.Future { return l.Average(1, b) },
					func(l comm.GroupLink, b *tensor.Bucket) *comm.Future { return l.ReduceScatter(2, b) },
				} {
					for i, s := range g.stores {
						_, put := elements(s.Buckets[0])
						for e := range count {
							put(e, 1)
							if i == 0 {
								put(e, c.first)
							}
						}
					}
					commtest.Must(t, g.all(func(i int, l comm.GroupLink) *comm.Future {
						return start(l, g.stores[i].Buckets[0])
					}))
					want := c.sum
					if batch == 1 {
						want = c.first/4 + 1 // 64.75 and 512.75, which lie halfway between two numbers
					}
					get, _ := elements(g.stores[0].Buckets[0])
					if got := get(0); got != want {
						t.Errorf("operation %d gives %d, want %d", batch, got, want)
					}
				}
			})
		}
	}
}

// No link pushes elements that servers cannot combine.
func TestServersTakeOnlyFloat32(t *testing.T) {
	specs := []tensor.BucketSpec{{Elements: 8, Type: tensor.BFloat16}}
	s := serve(t, []int{0, 1}, linktest.Patience, false, specs, func(*comm.Arrival) error { return nil })
	for i, link := range s.links { // in shared memory, and by frames
		err := link.PushPull(0, s.stores[i].Buckets[0]).Wait()
		if err == nil || !strings.Contains(err.Error(), "servers combine float32, not bfloat16") {
			t.Errorf("the error is %v", err)
		}
	}
}

// What a type cannot do is an error that names the type.
func TestTypesWithoutSumsAreRefused(t *testing.T) {
	overTransports(t, func(t *testing.T, f *Fabric) {
		g := joinGroup(t, f, inPairs(2), linktest.Patience, tensor.BucketSpec{Elements: 8, Type: tensor.Int8},
			tensor.BucketSpec{Index: 1, Elements: 8, Type: tensor.Int32})
		for want, future := range map[string]*comm.Future{
			"an all-reduce of bucket 0: it is not defined for elements of type int8":    g.links[0].AllReduce(0, g.stores[0].Buckets[0]),
			"a reduce-scatter of bucket 0: it is not defined for elements of type int8": g.links[0].ReduceScatter(0, g.stores[0].Buckets[0]),
			"an average of bucket 1: it is not defined for elements of type int32":      g.links[0].Average(0, g.stores[0].Buckets[1]),
		} {
			if err := future.Wait(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want %q", err, want)
			}
		}
	})
}
