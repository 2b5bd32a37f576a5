package result

import (
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/psbench/psbench/internal/documented"
)

// docs/examples/measurements.py reads a file correctly, whether compressed or not. The sum of each column and the
// median of each series are right.
func TestDocumentedFile(t *testing.T) {
	r := readGolden1(t)
	var sums [4]int64
	medians := map[string]string{} // keyed by type, name and rank
	for _, s := range r.Series {
		var durations []int64
		for m := range s.All() {
			for i, x := range []int64{m.Key.A, m.Key.B, m.StartNS, m.DurationNS} {
				sums[i] += x
			}
			durations = append(durations, m.DurationNS)
		}
		slices.Sort(durations)
		medians[fmt.Sprintf("%s,%s,%d", s.Type, s.Name, s.Rank)] = fmt.Sprintf("%.6f",
			float64(durations[(len(durations)-1)/2])/1e6)
	}
	for _, name := range []string{"run.json", "run.json.gz"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			if err := Write(path, r, still); err != nil {
				t.Fatal(err)
			}
			stdout, stderr := documented.Pandas(t, "../../../docs/examples/measurements.py",
				`print(*measurements[["key_a", "key_b", "start_ns", "duration_ns"]].sum(), file=sys.stderr)`, path)
			if want := fmt.Sprintln(sums[0], sums[1], sums[2], sums[3]); stderr != want {
				t.Errorf("the columns of %s sum to %swant %s", name, stderr, want)
			}
			if got := printedMedians(t, stdout); len(got) != len(medians) || len(got) != 11 {
				t.Errorf("%d medians were printed, want %d", len(got), len(medians))
			} else {
				for series, median := range medians {
					if got[series] != median {
						t.Errorf("%s, %s: the median is %s, want %s", name, series, got[series], median)
					}
				}
			}
		})
	}
}

// printedMedians parses a table that has a column for each rank.
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
