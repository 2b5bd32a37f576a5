package words

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
)

// The percentages add up to 100, and each differs from its exact share by at most 1.
func TestPercents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 12).Draw(t, "parts")
		sum, whole := 0.0, 0
		for _, p := range parts {
			sum += p
		}
		out := percents(parts)
		for i, n := range out {
			whole += n
			if sum > 0 && math.Abs(float64(n)-100*parts[i]/sum) >= 1+1e-9 {
				t.Fatalf("%v are %v", parts, out)
			}
		}
		if sum > 0 && whole != 100 || sum == 0 && whole != 0 {
			t.Fatalf("%v are %v, which add up to %d", parts, out, whole)
		}
	})
	for i, parts := range [][]float64{nil, {0}, {0, 0}, {math.NaN(), 1}, {math.Inf(1), 1},
		{math.MaxFloat64, math.MaxFloat64}, {-1, 1}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if out := percents(parts); slices.ContainsFunc(out, func(n int) bool { return n != 0 }) {
				t.Errorf("%v are %v", parts, out)
			}
		})
	}
}

// The parts of an iteration add up to 100, even if the medians add up to more or if parts are missing.
func TestLimitAddsUp(t *testing.T) {
	told := regexp.MustCompile(`(\d+) %[,)]`)
	rapid.Check(t, func(t *rapid.T) {
		s := modeltest.Made(modeltest.Servers,
			func([]string) modeltest.Plot { return modeltest.Plot{Throughput: 1000, Runs: 1} })
		for _, part := range []string{model.Compute, model.Hooking, model.Waiting, model.Moving} {
			value := rapid.Float64Range(0, 60).Draw(t, part)
			missing := rapid.IntRange(0, 3).Draw(t, "missing "+part) == 0
			for _, r := range s.AllRuns() {
				if r.Values[part] = value; missing {
					delete(r.Values, part)
				}
			}
		}
		m, _ := model.MetricOf(model.Throughput)
		for _, text := range answered(t, s, m, "limit") {
			sum := 0
			for _, share := range told.FindAllStringSubmatch(text, -1) {
				n, _ := strconv.Atoi(share[1])
				sum += n
			}
			if sum != 100 {
				t.Fatalf("they add up to %d: %s", sum, text)
			}
		}
	})
}
