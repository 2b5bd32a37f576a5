package vec

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const guard = 12345

// operands draws slices of equal, often odd, length, each of which starts anywhere in
// storage of its own, between guards.
func operands(t *rapid.T, k kernel, element func(operand int) *rapid.Generator[float32]) (storage, views [][]float32) {
	n := rapid.IntRange(0, 150).Draw(t, "n")
	for s := range k.slices {
		skip := rapid.IntRange(1, 17).Draw(t, "skip")
		values := slices.Repeat([]float32{guard}, skip+n+17)
		view := values[skip : skip+n]
		copy(view, rapid.SliceOfN(element(s), n, n).Draw(t, "values"))
		storage, views = append(storage, values), append(views, view)
	}
	return storage, views
}

func requireGuards(t *rapid.T, storage, views [][]float32) {
	for s, values := range storage {
		from := len(values) - cap(views[s])
		to := from + len(views[s])
		for i, v := range values {
			if (i < from || i >= to) && v != guard {
				t.Fatalf("operand %d is from %d to %d, but element %d became %g", s, from, to, i, v)
			}
		}
	}
}

func (k kernel) moderate(operand int) *rapid.Generator[float32] {
	if operand < len(k.positive) && k.positive[operand] {
		return rapid.Float32Range(0.1, 10)
	}
	return rapid.OneOf(rapid.Float32Range(-10, 10), rapid.Just(float32(0)))
}

func anyBits(int) *rapid.Generator[float32] {
	return rapid.Map(rapid.Uint32(), math.Float32frombits)
}

func clone(s [][]float32) [][]float32 {
	out := make([][]float32, len(s))
	for i := range s {
		out[i] = slices.Clone(s[i])
	}
	return out
}

func TestElementwise(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		eachKernel(t, func(t *testing.T, k kernel) {
			if k.step == nil {
				return // its elements depend on each other
			}
			rapid.Check(t, func(t *rapid.T) {
				storage, views := operands(t, k, k.moderate)
				before := clone(views)
				k.run(views)
				for i := range views[0] {
					k.requireElement(t, i, before, views)
				}
				requireGuards(t, storage, views)
			})
		})
	})
}

// requireElement compares with step, within the few roundings of a kernel.
func (k kernel) requireElement(t *rapid.T, i int, before, after [][]float32) {
	x, magnitude := make([]float64, k.slices), 1.0
	for s := range x {
		x[s] = float64(before[s][i])
		magnitude += math.Abs(x[s])
	}
	k.step(x)
	for s, want := range x {
		got := float64(after[s][i])
		if k.exact && got != float64(float32(want)) || math.Abs(got-want) > 1e-6*magnitude {
			t.Fatalf("element %d of operand %d is %g, want %g", i, s, got, want)
		}
	}
}

// Ranks reduce and step buckets in pieces of their own choice, and must agree.
func TestCutGivesTheSameBits(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		eachKernel(t, func(t *testing.T, k kernel) {
			if k.step == nil {
				return // its elements depend on each other
			}
			rapid.Check(t, func(t *rapid.T) {
				_, whole := operands(t, k, k.moderate)
				cut := clone(whole)
				at := rapid.IntRange(0, len(whole[0])).Draw(t, "at")
				var left, right [][]float32
				for _, s := range cut {
					left, right = append(left, s[:at]), append(right, s[at:])
				}
				k.run(whole)
				k.run(left)
				k.run(right)
				requireSame(t, cut, whole)
			})
		})
	})
}

func TestExactAtEveryLevel(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		eachKernel(t, func(t *testing.T, k kernel) {
			if !k.exact {
				return // fused multiplication and addition rounds once
			}
			rapid.Check(t, func(t *rapid.T) {
				_, got := operands(t, k, anyBits)
				want := clone(got)
				k.run(got)
				x := make([]float64, k.slices)
				for i := range want[0] {
					for s := range x {
						x[s] = float64(want[s][i])
					}
					k.step(x)
					for s := range x {
						want[s][i] = float32(x[s]) // the sum or product of two is rounded once
					}
				}
				requireSame(t, got, want)
			})
		})
	})
}

func requireSame(t *rapid.T, got, want [][]float32) {
	for s := range want {
		for i := range want[s] {
			if !sameBits(got[s][i], want[s][i]) {
				t.Fatalf("element %d of operand %d is %g, want %g", i, s, got[s][i], want[s][i])
			}
		}
	}
}

// With the tests of the portable kernels this covers those without a step.
func TestLevelsAgree(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		eachKernel(t, func(t *testing.T, k kernel) {
			rapid.Check(t, func(t *rapid.T) {
				storage, got := operands(t, k, k.moderate)
				if at := k.differs(got); at != "" {
					t.Fatal(at)
				}
				requireGuards(t, storage, got)
			})
		})
	})
}

func TestAxpyWithZeroLeavesY(t *testing.T) {
	inf := float32(math.Inf(1))
	eachLevel(t, func(t *testing.T) {
		y := []float32{1, inf}
		Axpy(0, []float32{inf, 1}, y)
		ScatterAxpy(0, []float32{inf, inf}, y, 2, []int32{0})
		if !slices.Equal(y, []float32{1, inf}) {
			t.Errorf("y is %v, want 1 and +Inf", y)
		}
	})
}

func TestDot(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			storage, s := operands(t, kernel{slices: 2}, kernel{}.moderate)
			product, squares, slack := 0.0, 0.0, 1e-40 // products may be denormal
			for i, x := range s[0] {
				product += float64(x) * float64(s[1][i])
				squares += float64(x) * float64(x)
				slack += 1e-6 * (math.Abs(float64(x)*float64(s[1][i])) + float64(x)*float64(x))
			}
			if got := float64(dot(s[0], s[1])); math.Abs(got-product) > slack {
				t.Fatalf("the product of %d elements is %g, want %g", len(s[0]), got, product)
			}
			if got := float64(SumSquares(s[0])); math.Abs(got-squares) > slack {
				t.Fatalf("the squares of %d elements sum to %g, want %g", len(s[0]), got, squares)
			}
			requireGuards(t, storage, s)
		})
	})
}

func TestKernelsDoNotAllocate(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		eachKernel(t, func(t *testing.T, k kernel) {
			s := k.operands(1001)
			if allocs := testing.AllocsPerRun(10, func() { k.run(s) }); allocs != 0 {
				t.Errorf("%g allocations, want 0", allocs)
			}
		})
	})
}

func TestAllFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float32(), 0, 3*finiteBlock).Draw(t, "x")
		for i := rapid.IntRange(0, 2).Draw(t, "odd values"); i > 0 && len(x) > 0; i-- {
			bits := 0x7f800000 | rapid.Uint32().Draw(t, "bits")
			x[rapid.IntRange(0, len(x)-1).Draw(t, "place")] = math.Float32frombits(bits)
		}
		want := true
		for _, v := range x {
			want = want && !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
		}
		if got := AllFinite(x); got != want {
			t.Fatalf("AllFinite is %v, want %v", got, want)
		}
	})
}

func TestAllFiniteOfEveryEdge(t *testing.T) {
	x := make([]float32, 2*finiteBlock+1)
	x[0], x[finiteBlock] = math.MaxFloat32, -math.SmallestNonzeroFloat32
	if !AllFinite(x) || !AllFinite(nil) {
		t.Error("finite values are not")
	}
	for _, i := range []int{0, finiteBlock - 1, finiteBlock, 2 * finiteBlock} {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			kept := x[i]
			if x[i] = float32(v); AllFinite(x) {
				t.Errorf("%v at %d is finite", v, i)
			}
			x[i] = kept
		}
	}
}
