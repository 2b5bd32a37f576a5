package result

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The example of docs/result.md reads what is in the file, compressed or not: the sum of each
// column and the median of each series are right.
func TestDocumentedPandas(t *testing.T) {
	python := withPandas()
	if python == "" {
		t.Skip("pandas is not installed")
	}
	doc, err := os.ReadFile("../../" + docFile)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(doc), "```python\n")
	program, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("docs/result.md has no program in Python")
	}
	program += `print(*measurements[["key_a", "key_b", "start_ns", "duration_ns"]].sum(), file=sys.stderr)`

	r := readGolden1(t)
	var sums [4]int64
	medians := map[string]string{} // by type, name and rank
	for _, s := range r.Series {
		var durations []int64
		for m := range s.All() {
			for i, x := range []int64{m.Key.A, m.Key.B, m.StartNS, m.DurationNS} {
				sums[i] += x
			}
			durations = append(durations, m.DurationNS)
		}
		slices.Sort(durations)
		medians[fmt.Sprintf("%s,%s,%d", s.Type, s.Name, s.Rank)] = fmt.Sprintf("%.6f", float64(durations[(len(durations)-1)/2])/1e6)
	}
	for _, name := range []string{"run.json", "run.json.gz"} {
		path := filepath.Join(t.TempDir(), name)
		if err := Write(path, r, still); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(python, "-c", program, path)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		if want := fmt.Sprintln(sums[0], sums[1], sums[2], sums[3]); stderr.String() != want {
			t.Errorf("the columns of %s sum to %swant %s", name, stderr.String(), want)
		}
		if got := printedMedians(t, stdout.String()); len(got) != len(medians) || len(got) != 11 {
			t.Errorf("%d medians were printed, want %d", len(got), len(medians))
		} else {
			for series, median := range medians {
				if got[series] != median {
					t.Errorf("%s, %s: the median is %s, want %s", name, series, got[series], median)
				}
			}
		}
	}
}

// withPandas is a Python that has pandas. The one that distributions install it for need not be
// the first on the path.
func withPandas() string {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import pandas").Run() == nil {
			return python
		}
	}
	return ""
}

// printedMedians are those of a table with a column for each rank.
func printedMedians(t *testing.T, table string) map[string]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%v: %s", err, table)
	}
	medians := map[string]string{}
	for _, row := range rows[1:] {
		for i, median := range row[2:] {
			if rank, err := strconv.Atoi(rows[0][2+i]); err != nil {
				t.Errorf("column %s is no rank", rows[0][2+i])
			} else if median != "" {
				medians[fmt.Sprintf("%s,%s,%d", row[0], row[1], rank)] = median
			}
		}
	}
	return medians
}
