package blas

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/simd"
	"github.com/psbench/psbench/plugins/models/blas/native"
)

// forEachEngine runs a test on the compiled-in engines and on every shared library found here. The native engine
// uses all instructions of this machine.
func forEachEngine(t *testing.T, test func(t *testing.T, b BLAS)) {
	for _, level := range simd.Available() {
		t.Run(Native+"/"+level.String(), func(t *testing.T) { test(t, nativeBLAS{native.New(level, 1)}) })
	}
	for _, name := range engines {
		if name == Auto || name == Native {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b, err := Open(name, 1)
			if err != nil {
				t.Skipf("this machine has no such library: %v", err)
			}
			test(t, b)
		})
	}
}

func TestGemmAgreesWithTripleLoop(t *testing.T) {
	size := rapid.OneOf(rapid.IntRange(0, 9), rapid.IntRange(10, 140))
	forEachEngine(t, func(t *testing.T, b BLAS) {
		rapid.Check(t, func(t *rapid.T) {
			checkGemm(t, b, size.Draw(t, "m"), size.Draw(t, "n"), size.Draw(t, "k"))
		})
	})
}

// If alpha is 0, Gemm does not read a and b.
func TestAlphaZero(t *testing.T) {
	forEachEngine(t, func(t *testing.T, b BLAS) {
		nan := []float32{float32(math.NaN())}
		c := []float32{3}
		b.Gemm(false, false, 1, 1, 1, 0, nan, 1, nan, 1, 2, c, 1)
		if c[0] != 6 {
			t.Errorf("0 * NaN * NaN + 2 * 3 is %g", c[0])
		}
	})
}

// A product of a large matrix with a few rows is split into pieces for OpenBLAS. This test splits it for every
// engine.
func TestProductsInPieces(t *testing.T) {
	few, large := rapid.IntRange(1, 24), rapid.IntRange(300, 600)
	for _, name := range []string{OpenBLAS, Native} {
		t.Run(name, func(t *testing.T) {
			b, err := Open(name, 1)
			if err != nil {
				t.Skipf("this machine has no such library: %v", err)
			}
			rapid.Check(t, func(t *rapid.T) {
				sizes := rapid.Permutation([]int{few.Draw(t, "few"), large.Draw(t, "large"),
					large.Draw(t, "large")}).Draw(t, "sizes")
				checkGemm(t, pieces{b}, sizes[0], sizes[1], sizes[2])
			})
		})
	}
}

func checkGemm(t *rapid.T, engine BLAS, m, n, k int) {
	transA, transB := rapid.Bool().Draw(t, "transA"), rapid.Bool().Draw(t, "transB")
	factor := rapid.SampledFrom([]float32{0, 1, -0.5, 2})
	alpha, beta := factor.Draw(t, "alpha"), factor.Draw(t, "beta")

	rowsA, columnsA := m, k
	if transA {
		rowsA, columnsA = k, m
	}
	rowsB, columnsB := k, n
	if transB {
		rowsB, columnsB = n, k
	}
	pad := rapid.IntRange(0, 3)
	lda, ldb, ldc := columnsA+pad.Draw(t, "padA"), columnsB+pad.Draw(t, "padB"), n+pad.Draw(t, "padC")
	lda, ldb, ldc = max(lda, 1), max(ldb, 1), max(ldc, 1)

	a, b := values(1, rowsA*lda), values(2, rowsB*ldb)
	got := values(3, m*ldc)
	if beta == 0 {
		for i := range got {
			got[i] = float32(math.NaN())
		}
	}
	want := append([]float32(nil), got...)
	naive(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, want, ldc)
	engine.Gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, got, ldc)

	for i := range want {
		row, column := i/ldc, i%ldc
		if column >= n {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				t.Fatalf("c[%d,%d] lies outside the matrix but became %g", row, column, got[i])
			}
			continue
		}
		if diff := math.Abs(float64(got[i] - want[i])); !(diff <= 1e-5*float64(k+1)) {
			t.Fatalf("c[%d,%d] is %g, want %g", row, column, got[i], want[i])
		}
	}
}

func naive(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32,
	c []float32, ldc int) {
	for i := range m {
		for j := range n {
			var sum float64
			for l := range k {
				x, y := i*lda+l, l*ldb+j
				if transA {
					x = l*lda + i
				}
				if transB {
					y = j*ldb + l
				}
				sum += float64(a[x]) * float64(b[y])
			}
			old := 0.0
			if beta != 0 {
				old = float64(beta) * float64(c[i*ldc+j])
			}
			c[i*ldc+j] = float32(float64(alpha)*sum + old)
		}
	}
}

// values returns n pseudo-random numbers in [-1, 1).
func values(seed uint32, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		seed = seed*1664525 + 1013904223
		out[i] = float32(seed>>8)/(1<<23) - 1
	}
	return out
}

func TestSharedLibraryAllocatesNothing(t *testing.T) {
	forEachEngine(t, func(t *testing.T, b BLAS) {
		if b.Info().Engine == Gonum {
			t.Skip("gonum starts goroutines for large products")
		}
		x, c := values(1, 64*64), make([]float32, 64*64)
		allocs := testing.AllocsPerRun(100, func() {
			b.Gemm(false, true, 64, 64, 64, 1, x, 64, x, 64, 0, c, 64)
		})
		if allocs > 0 {
			t.Errorf("a multiplication makes %g allocations, want none", allocs)
		}
	})
}

func TestInfo(t *testing.T) {
	forEachEngine(t, func(t *testing.T, b BLAS) {
		info := b.Info()
		if want := strings.Split(t.Name(), "/"); info.Engine != want[1] ||
			info.Engine == Native && info.Core != want[2] {
			t.Errorf("engine is %q, core %q, want %q", info.Engine, info.Core, want[1:])
		}
		if info.Core == "" || info.Threads < 1 {
			t.Errorf("info is incomplete: %+v", info)
		}
		if info.Engine != Gonum && info.Threads != 1 {
			t.Errorf("an engine opened for 1 thread says %+v", info)
		}
		if shared := info.Engine != Gonum && info.Engine != Native; shared != (info.Library != "") {
			t.Errorf("the shared library of %s is %q", info.Engine, info.Library)
		}
		t.Logf("%+v", info)
	})
}

func TestThreadsAreReadBack(t *testing.T) {
	b, err := Open(OpenBLAS, 2)
	if err != nil {
		t.Skipf("this machine has no OpenBLAS: %v", err)
	}
	if got := b.Info().Threads; got < 1 || got > 2 {
		t.Errorf("asked for 2 threads, the library says %d", got)
	}
}

func TestAutoAlwaysWorks(t *testing.T) {
	b, err := Open(Auto, 1)
	if err != nil {
		t.Fatal(err)
	}
	if b.Info().Engine == Gonum {
		t.Errorf("auto chose %+v, which native is better than", b.Info())
	}
	t.Logf("auto chose %+v", b.Info())
}

// A process chooses the level only once, so each choice runs in its own process.
func TestNativeUsesTheChosenLevel(t *testing.T) {
	const marker = "says "
	if os.Getenv("PSBENCH_TEST_OPEN") != "" {
		b, err := Open(Native, 3)
		if err != nil {
			t.Log(marker + err.Error())
			return
		}
		t.Logf("%s%s %s %d", marker, b.Info().Engine, b.Info().Core, b.Info().Threads)
		return
	}
	for level, want := range map[string]string{
		"portable": "native portable 3",
		"":         "native " + simd.Available()[len(simd.Available())-1].String() + " 3",
		"sse":      `PSBENCH_SIMD is "sse" but must be one of portable, avx2, avx512`,
	} {
		t.Run(level, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNativeUsesTheChosenLevel$", "-test.v")
			cmd.Env = append(os.Environ(), "PSBENCH_TEST_OPEN=1", simd.Variable+"="+level)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			_, said, _ := strings.Cut(string(out), marker)
			if said, _, _ = strings.Cut(said, "\n"); said != want {
				t.Errorf("%s=%s: native says %q, want %q", simd.Variable, level, said, want)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		want    string
		threads int
		message string
	}{
		{"fast", 1, `blas engine "fast" is not known: choose one of auto, openblas, mkl, blis, native, gonum`},
		{Gonum, 0, "blas threads are 0 but must be at least 1"},
	} {
		t.Run(fmt.Sprintf("%.60s", c.message), func(t *testing.T) {
			if _, err := Open(c.want, c.threads); err == nil || err.Error() != c.message {
				t.Errorf("Open(%q, %d) says %v, want %s", c.want, c.threads, err, c.message)
			}
		})
	}
	missing := regexp.MustCompile(
		`^blas engine mkl was not found \((libmkl_rt\.so[.0-9]*: [^;]+; ){3}libmkl_rt\.so\.1: [^;]+\): install it`)
	if _, err := Open(MKL, 1); err != nil && !strings.Contains(err.Error(), "built without") &&
		!missing.MatchString(err.Error()) {
		t.Errorf("an engine that is missing must be named, and each library with a reason: %v", err)
	}
}

func TestShortMatrixIsRefused(t *testing.T) {
	forEachEngine(t, func(t *testing.T, b BLAS) {
		defer func() {
			if recover() == nil {
				t.Error("a slice shorter than its matrix was accepted")
			}
		}()
		b.Gemm(false, false, 2, 2, 2, 1, make([]float32, 3), 2, make([]float32, 4), 2, 0, make([]float32, 4), 2)
	})
}
