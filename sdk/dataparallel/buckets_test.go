package dataparallel

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// dummy returns the parameters of the dummy model: an embedding, then layers with a weight and a
// bias each.
func dummy(size, layers int, sparse bool) []sdk.ParameterSpec {
	specs := []sdk.ParameterSpec{{Name: "embedding.weight", Shape: []int{size, size}, Sparse: sparse}}
	for i := range layers {
		specs = append(specs,
			sdk.ParameterSpec{Name: fmt.Sprintf("fc%d.weight", i), Shape: []int{size, size}},
			sdk.ParameterSpec{Name: fmt.Sprintf("fc%d.bias", i), Shape: []int{size}})
	}
	return specs
}

func TestBuckets(t *testing.T) {
	type bucket struct {
		Parameters []int
		Elements   int
		Sparse     bool
	}
	// One layer of the small model has 16*16 + 16 elements: 1088 bytes, of which the bias takes 64.
	for name, c := range map[string]struct {
		specs []sdk.ParameterSpec
		limit int
		want  []bucket
	}{
		"default": {dummy(1024, 8, false), 25 << 20, []bucket{
			{[]int{16, 15}, 1_049_600, false},
			{[]int{14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 7_347_200, false},
			{[]int{0}, 1_048_576, false},
		}},
		"default, sparse": {dummy(1024, 8, true), 25 << 20, []bucket{
			{[]int{16, 15}, 1_049_600, false},
			{[]int{14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 7_347_200, false},
			{[]int{0}, 1_048_576, true},
		}},
		"small in one": {dummy(16, 2, false), 25 << 20, []bucket{{[]int{4, 3, 2, 1, 0}, 800, false}}},
		"small, 512 bytes": {dummy(16, 2, false), 512, []bucket{
			{[]int{4, 3}, 272, false}, {[]int{2, 1}, 272, false}, {[]int{0}, 256, false},
		}},
		"small, 1024 bytes": {dummy(16, 2, true), 1024, []bucket{
			{[]int{4, 3}, 272, false}, {[]int{2, 1}, 272, false}, {[]int{0}, 256, true},
		}},
		"a limit reached exactly": {dummy(16, 2, false), 1088, []bucket{
			{[]int{4, 3}, 272, false}, {[]int{2, 1}, 272, false}, {[]int{0}, 256, false},
		}},
		"one byte more": {dummy(16, 2, false), 1089, []bucket{
			{[]int{4, 3, 2}, 288, false}, {[]int{1, 0}, 512, false},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []bucket
			for i, b := range (BucketSettings{c.limit}).PlanBuckets(c.specs) {
				if b.Index != i {
					t.Errorf("bucket %d has index %d", i, b.Index)
				}
				g := bucket{Elements: b.Elements, Sparse: b.Sparse}
				for _, s := range b.Parameters {
					g.Parameters = append(g.Parameters, s.Parameter)
				}
				got = append(got, g)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestBucketsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var specs []sdk.ParameterSpec
		for range rapid.IntRange(1, 30).Draw(t, "parameters") {
			specs = append(specs, sdk.ParameterSpec{
				Shape:  []int{rapid.IntRange(1, 600).Draw(t, "rows"), rapid.IntRange(1, 600).Draw(t, "width")},
				Sparse: rapid.Bool().Draw(t, "sparse"),
			})
		}
		limit := rapid.IntRange(1, 2<<20).Draw(t, "limit")
		buckets := BucketSettings{limit}.PlanBuckets(specs)
		lastDense := -1
		for i, b := range buckets {
			if !b.Sparse {
				lastDense = i
			}
		}
		openLimit := min(firstBucketBytes, limit)
		seen := map[int]bool{}
		next := len(specs) // dense parameters come in reverse order
		for i, b := range buckets {
			requireSpans(t, b, specs, seen)
			if b.Sparse {
				requireTable(t, b, specs)
				continue
			}
			for _, s := range b.Parameters {
				if s.Parameter >= next {
					t.Fatalf("parameter %d comes after parameter %d", s.Parameter, next)
				}
				next = s.Parameter
			}
			last := b.Parameters[len(b.Parameters)-1]
			if 4*b.Elements < openLimit && i != lastDense {
				t.Fatalf("bucket %d closed at %d bytes below its limit of %d", i, 4*b.Elements, openLimit)
			}
			if 4*(b.Elements-last.Elements) >= openLimit {
				t.Fatalf("bucket %d had reached %d bytes before its last parameter", i, openLimit)
			}
			openLimit = limit
		}
		if len(seen) != len(specs) {
			t.Fatalf("%d of %d parameters are planned", len(seen), len(specs))
		}
	})
}

// requireSpans checks that the spans of b are whole parameters in sequence, none of them seen
// before.
func requireSpans(t *rapid.T, b tensor.BucketSpec, specs []sdk.ParameterSpec, seen map[int]bool) {
	offset := 0
	for _, s := range b.Parameters {
		if s.Offset != offset || s.Elements != tensor.Elements(specs[s.Parameter].Shape) || seen[s.Parameter] {
			t.Fatalf("span %+v at %d, seen before: %v", s, offset, seen[s.Parameter])
		}
		seen[s.Parameter] = true
		offset += s.Elements
	}
	if offset != b.Elements {
		t.Fatalf("a bucket of %d elements has spans of %d", b.Elements, offset)
	}
}

func requireTable(t *rapid.T, b tensor.BucketSpec, specs []sdk.ParameterSpec) {
	p := specs[b.Parameters[0].Parameter]
	if len(b.Parameters) != 1 || !p.Sparse || b.TableRows != p.Shape[0] || b.Width != p.Shape[1] {
		t.Fatalf("bucket %+v is no table of %v", b, p.Shape)
	}
}
