package folder

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/host/noise"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/record/stats"
	"github.com/psbench/psbench/internal/metric"
)

// recorded returns a run with all data that tables show.
func recorded() *result.Result {
	r := example()
	r.Pass, r.Transport = result.Measured, "shm"
	r.Config = []result.Value{{Key: "epochs", Value: 2}}
	r.Data = result.Partition{Samples: 80, Batches: 4, LargestBatch: 20, BatchesPerTrainer: []int{1, 2},
		SamplesPerTrainer: []int{20, 40}, HeldOut: 30}
	for i := range r.Processes {
		p := &r.Processes[i]
		p.PID, p.StartMS, p.RSSMiB, p.BoundaryNS = 100+i, 12.5, 40.25, 2000
	}
	r.Environment.Cores, r.Environment.MemoryMiB = 2, 4096
	for rank := range 2 {
		r.Works = append(r.Works,
			result.Work{WarmUp: true, Rank: rank, Samples: 20, StartNS: 2_000_000, EndNS: 3_000_000},
			result.Work{Rank: rank, Samples: 40, StartNS: 10_000_000, EndNS: 90_000_000 + int64(rank),
				EvaluatedNS: 1000})
		for epoch := range 2 {
			r.Found = append(r.Found,
				result.Found{Epoch: epoch, Rank: rank, Samples: 15, LossSum: 7.5 - float64(epoch), Correct: 9,
					Targets: 15})
		}
	}
	for epoch := range 2 {
		r.Scores = append(r.Scores,
			result.Score{Epoch: epoch, Bin: -3, Classes: stats.Classes{Positives: 2, Negatives: 13}},
			result.Score{Epoch: epoch, Bin: 4, Classes: stats.Classes{Positives: 10, Negatives: 5}})
	}
	load, switches := 0.75, int64(12)
	for _, name := range []string{noise.Before, noise.Measured, noise.After} {
		r.Noise = append(r.Noise, noise.Interval{
			Name: name, Duration: time.Second, Load: &load,
			Machine: &noise.Machine{Cores: 2, Uncertainty: 30 * time.Millisecond, Steal: 20 * time.Millisecond,
				Idle: time.Second},
			Processes: []noise.Usage{{Name: "core", PID: 99, CPU: 300 * time.Millisecond, VoluntarySwitches: &switches,
				InvoluntarySwitches: &switches}},
		})
	}
	r.Checks = &result.Checks{Operations: 8, Slices: 16, Elements: 1024, Iterations: 4, SpentMS: 0.5}
	r.Count(0, metric.Head{Type: "push_metric", Name: "sent", Unit: "B"}, 12400)
	h := metric.NewHistogram([]float64{1, 2, 4})
	copy(h.Counts, []int64{5, 6, 7, 8})
	r.Distribute(1, metric.Head{Type: "push_metric", Name: "size", Unit: "rows"}, h)
	r.Compute()
	return r
}

// shown returns everything that a reader of the folder gets. The result therefore contains everything that psbench can
// print.
func shown(dir string) (string, error) {
	r, err := Read(dir)
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	return string(text), err
}

// head returns the text of a folder's result.json.
func head(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, resultName))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// place is the position of a number in a line of an indented document, and the path of keys to it.
type place struct {
	path     string
	from, to int
}

// places returns the places of all numbers.
func places(text string) (all []place) {
	number := regexp.MustCompile(`^( *)(?:"([^"]*)": )?(-?[0-9][-+.0-9eE]*)?`)
	var keys []string
	at := 0
	for line := range strings.Lines(text) {
		m := number.FindStringSubmatchIndex(line)
		depth := m[3] - m[2]
		for len(keys) <= depth {
			keys = append(keys, "")
		}
		keys[depth] = "" // an element of a list has no key
		if m[4] >= 0 {
			keys[depth] = line[m[4]:m[5]]
		}
		if m[6] >= 0 {
			all = append(all, place{strings.Join(keys[1:depth+1], "."), at + m[6], at + m[7]})
		}
		at += len(line)
	}
	return all
}

// seal writes the text of a head with a correct checksum.
func seal(t *testing.T, dir, text string) {
	t.Helper()
	sum := strings.LastIndex(text, `"crc32": "`) + len(`"crc32": "`)
	text = text[:sum] + "00000000" + text[sum+8:]
	text = text[:sum] + fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) + text[sum+8:]
	if err := os.WriteFile(filepath.Join(dir, resultName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// No change of a number in result.json goes unnoticed, even with a correct checksum. Either the printed numbers stay
// the same, or the folder is refused and the error names the number.
func TestNoNumberOfTheHeadIsBelieved(t *testing.T) {
	dir := written(t, recorded())
	want, err := shown(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"evaluation": [`, `"noise": [`, `"samples_per_second": `, `"checks": {`,
		`"type": "push_metric"`, `"auc": `} {
		t.Run(part, func(t *testing.T) {
			if !strings.Contains(want, part) {
				t.Errorf("nothing is read of %s:\n%s", part, want)
			}
		})
	}
	text := head(t, dir)
	tried := places(text)
	for _, p := range tried {
		x, err := strconv.ParseFloat(text[p.from:p.to], 64)
		if err != nil {
			t.Fatal(p, err)
		}
		changed := filepath.Join(t.TempDir(), "changed")
		if err := os.CopyFS(changed, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		seal(t, changed, text[:p.from]+strconv.FormatFloat(x+1, 'f', -1, 64)+text[p.to:])
		got, err := shown(changed)
		if err == nil && got != want {
			t.Errorf("%s is believed: %s", p.path, cmp.Diff(want, got))
		}
		if err != nil && !strings.Contains(err.Error(), "is not a run folder that can be read: ") ||
			err == nil && !strings.HasPrefix(p.path, "samples.") {
			t.Errorf("%s: %v", p.path, err)
		}
	}
	if len(tried) < 100 {
		t.Errorf("%d numbers were tried", len(tried))
	}
}

// A folder whose columns contain impossible values is refused.
func TestWhatCannotBeRecordedIsRefused(t *testing.T) {
	for want, change := range map[string]func(*result.Result){
		"row 1 of column work has":                           func(r *result.Result) { r.Works[1].EndNS = math.MinInt64 },
		"row 0 of column evaluation.found has an impossible": func(r *result.Result) { r.Found[0].Epoch = -1 },
		"row 2 of column evaluation.found has an impossible": func(r *result.Result) { r.Found[2].Samples = 0 },
		"row 3 of column evaluation.found has an impossible": func(r *result.Result) { r.Found[3].Correct = -2 },
		"row 1 of column evaluation.scores has a":            func(r *result.Result) { r.Scores[1].Negatives = -7 },
	} {
		t.Run(want, func(t *testing.T) {
			r := recorded()
			change(r)
			if _, err := Read(written(t, r)); err == nil || !strings.Contains(err.Error(), "samples: "+want) {
				t.Errorf("it said %v, want %s", err, want)
			}
		})
	}
	r := recorded() // large but possible values
	r.Found[0].Epoch, r.Data.BatchesPerTrainer = math.MaxInt>>2, []int{math.MaxInt, 1}
	if _, err := Read(written(t, r)); err != nil {
		t.Error(err)
	}
}

// Derived values are recomputed. In a folder without the column of all numbers, changed values for throughput,
// evaluation, noise or the cost of checks have no effect.
func TestWhatFollowsIsComputedAgain(t *testing.T) {
	dir := written(t, recorded())
	want, err := shown(dir)
	if err != nil {
		t.Fatal(err)
	}
	text := head(t, dir)
	tried := 0
	for _, p := range slices.Backward(places(text)) {
		follows := strings.HasPrefix(p.path, "throughput.") || strings.HasPrefix(p.path, "evaluation.") ||
			p.path == "start_ms" ||
			strings.HasSuffix(p.path, ".others_ns") || p.path == "checks.share"
		if follows {
			text = text[:p.from] + "7" + text[p.to:]
			tried++
		}
	}
	if tried < 20 {
		t.Errorf("%d numbers were changed", tried)
	}
	column := regexp.MustCompile(`,\s*\{\s*"name": "` + numbersColumn + `"[^}]*\}`)
	if !column.MatchString(text) {
		t.Fatal("the column of numbers is not where it was sought")
	}
	seal(t, dir, column.ReplaceAllString(text, ""))
	got, err := shown(dir)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}
