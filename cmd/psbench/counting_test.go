//go:build !race

package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/record/result"
)

// Parts of any kind can record counters, gauges and histograms, in the trainer's process and in a separate one. The
// counts of different parts agree, and they exclude the warm-up.
func TestPartsRecordNumbers(t *testing.T) {
	registry := "--registry " + foreignPlugin(t, "counting")
	const parts = " --server counting --ddp-hook counting --create-criterion counting --model counting --epochs 3"
	t.Run("together", func(t *testing.T) {
		res := runs(t, strings.Fields(registry+" --trainer counting --data counting --ntrainer 3"+parts)...)
		requireNumbers(t, res)
		if got, want := counted(res, "iterations"), sumOf(iterations(res)); got != int64(want) {
			t.Errorf("the trainers counted %d iterations of %d", got, want)
		}
		if got := counted(res, "read"); got < res.Throughput.Samples {
			t.Errorf("%d rows were read, and more are trained on", got)
		}
		requireFact(t, res, "data", "rows_dropped", "0 of 40")
		requireFact(t, res, "trainer1", "counted", fmt.Sprint(len(res.Losses[1])))
		requireFact(t, res, "trainer1", "seen", fmt.Sprint(10*len(res.Losses[1]), " samples"))
	})
	t.Run("isolated", func(t *testing.T) {
		res := runs(t, strings.Fields(registry+" --transport tcp"+parts)...)
		requireNumbers(t, res)
		requireFact(t, res, "trainer1.model", "seen", fmt.Sprint(10*len(res.Losses[1]), " samples"))
		requireFact(t, res, "trainer0.hook", "sent", fmt.Sprint(counted(res, "sent")/2, " B"))
	})
}

// requireNumbers requires that the recorded numbers of a run's parts are consistent.
func requireNumbers(t *testing.T, res *result.Result) {
	t.Helper()
	iterations, elements := sumOf(iterations(res)), 0
	for _, b := range res.Buckets {
		elements += b.Elements
	}
	sent, pushed := counted(res, "sent"), counted(res, "pushed")
	if want := int64(4 * iterations * elements); sent != want || pushed != want {
		t.Errorf("%d bytes were sent and %d pushed, want %d", sent, pushed, want)
	}
	if got := counted(res, "samples"); got != res.Throughput.Samples || got == 0 {
		t.Errorf("the models counted %d samples of %d", got, res.Throughput.Samples)
	}
	pushes := iterations * len(res.Buckets)
	observed, infinite, stale := map[string]int{}, 0, 0
	for _, g := range res.Gauges {
		for key, x := range g.All() {
			observed[g.Name]++
			switch {
			case math.IsInf(x, 1):
				infinite++
			case x < 0 || x != math.Trunc(x) && g.Unit == "steps" || key.B < 0:
				t.Errorf("%s: %g %s at %v", g.Name, x, g.Unit, key)
			case x > 0 && g.Unit == "steps":
				stale++
			}
		}
	}
	if observed["staleness"] != pushes || observed["norm of a gradient"] != pushes || observed["loss"] != iterations ||
		infinite < iterations/5-len(res.Losses) {
		t.Errorf("of %d pushes of %d iterations there are %v, %d of them infinite", pushes, iterations, observed,
			infinite)
	}
	requireFact(t, res, fmt.Sprintf("server%d", len(res.Losses)), "stale_pushes",
		fmt.Sprintf("%d of %d", stale, pushes))
	if len(res.Histograms) != 1 || res.Histograms[0].Total() != int64(pushes) || res.Histograms[0].Unit != "1" {
		t.Errorf("the histograms are %+v of %d pushes", res.Histograms, pushes)
	}
}

func sumOf(numbers []int) (sum int) {
	for _, n := range numbers {
		sum += n
	}
	return sum
}

// counted returns the sum of a counter over all ranks.
func counted(res *result.Result, name string) (sum int64) {
	for _, c := range res.Counters {
		if c.Name == name {
			sum += c.Value
		}
	}
	return sum
}

func requireFact(t *testing.T, res *result.Result, process, fact, want string) {
	t.Helper()
	for _, p := range res.Processes {
		if p.Name == process && p.Facts[fact] == want {
			return
		}
	}
	t.Errorf("fact %s of %s is not %q in %+v", fact, process, want, res.Processes)
}

// An invalid number ends the run with one sentence: either when the part declares the metric, or after the pass that
// recorded it.
func TestPartsRecordWrongly(t *testing.T) {
	registry := foreignPlugin(t, "counting")
	for wrong, want := range map[string]string{
		"unit":   `it records gauge counting_metric, staleness: unit "a step" must be a short word such as 1, B, rows, steps or %: at most 12 letters, digits and % / ^ _ -`,
		"twice":  "it records gauge counting_metric, pushed in B, and also counter counting_metric, pushed in B: give one of them another name",
		"bounds": "it records histogram counting_metric, sizes: bound 1 is 4, but bounds must ascend and the one before it is 8",
		"sum":    "it adds -1 to counter counting_metric, pushed in B: a counter cannot shrink, so use a gauge",
	} {
		t.Run(wrong, func(t *testing.T) {
			status, _, stderr := psbenchMain(t, "--quiet", "--registry", registry, "--server", "counting", "--set",
				"server.wrong="+wrong, "--set", "model.dense_layers_count=2", "--epochs", "1")
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			if last := lines[len(lines)-1]; status == 0 ||
				last != "psbench: server2: server counting: "+want+"; server2 is server counting of plugin counting" {
				t.Errorf("%s: exit status %d, %s", wrong, status, stderr)
			}
		})
	}
}
