package report

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
)

// TestTablesFollowFromTheFile reads the measurements from a result file without psbench's code. It computes every
// number of every metric table in a simple way. Then it compares these numbers with the text printed from the
// original result.
func TestTablesFollowFromTheFile(t *testing.T) {
	printed := text(t, synthetic(), Options{Report: Full})
	path := filepath.Join(t.TempDir(), "run.json")
	if err := result.Write(path, synthetic(), func() {}); err != nil {
		t.Fatal(err)
	}
	read, err := result.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(printed, text(t, read, Options{Report: Full})); diff != "" {
		t.Errorf("the text from the file differs:\n%s", diff)
	}

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Processes []struct {
			Name, Kind string
			Rank       int
		}
		Series []struct {
			Rank       int
			Type, Name string
			DurationNS []float64 `json:"duration_ns"`
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	want := map[string][]float64{}
	for _, s := range file.Series {
		for _, p := range file.Processes {
			if p.Rank == s.Rank && (p.Kind == "trainer" || p.Kind == "server") {
				for _, title := range []string{p.Name, "all " + p.Kind} {
					row := title + "|" + s.Type + "," + s.Name
					for _, ns := range s.DurationNS {
						want[row] = append(want[row], ns/1e6)
					}
				}
			}
		}
	}
	rows := metricRows(printed)
	if len(rows) != len(want) || len(rows) != 4*3+3+2*2+2 {
		t.Fatalf("%d rows were printed, the file has %d", len(rows), len(want))
	}
	for row, ms := range want {
		t.Run(row, func(t *testing.T) {
			if diff := cmp.Diff(plainSummary(ms), rows[row]); diff != "" {
				t.Errorf("row %s (-from the file +printed):\n%s", row, diff)
			}
		})
	}
}

// metricRows returns the cells of every row of the metric tables, keyed by "title|type,name".
func metricRows(printed string) map[string][]string {
	rows := map[string][]string{}
	title, label := "", ""
	var cells []string // of the current row, which may span two lines
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if title != "" && strings.Contains(label, ",") {
				rows[title+"|"+label] = cells
			}
			label, cells = "", nil
			if !strings.HasPrefix(line, "+") {
				title, _ = strings.CutSuffix(line, " (ms)")
			}
			continue
		}
		fields := strings.Split(strings.Trim(line, "|"), "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		label += fields[0]
		if cells == nil {
			cells = fields[1:]
		}
	}
	return rows
}

func plainSummary(ms []float64) []string {
	n := float64(len(ms))
	sorted := slices.Sorted(slices.Values(ms))
	quantile := func(p float64) float64 { return sorted[int(math.Ceil(p*n))-1] }
	sum, squares := 0.0, 0.0
	for _, x := range ms {
		sum += x
	}
	for _, x := range ms {
		squares += (x - sum/n) * (x - sum/n)
	}
	cells := []string{fmt.Sprint(len(ms))}
	for _, x := range []float64{sorted[0], quantile(.5), sum / n, quantile(.95), sorted[len(ms)-1],
		math.Sqrt(squares / (n - 1))} {
		cells = append(cells, fmt.Sprintf("%.3f", x))
	}
	if len(ms) < 2 {
		cells[len(cells)-1] = "-"
	}
	return cells
}

func TestDocumentedQueryGivesTheTable(t *testing.T) {
	jq, err := exec.LookPath("jq")
	if err != nil {
		t.Skip("jq is not installed")
	}
	path := filepath.Join(t.TempDir(), "run.json")
	if err := result.Write(path, synthetic(), func() {}); err != nil {
		t.Fatal(err)
	}
	rows := metricRows(text(t, synthetic(), Options{Report: Full}))
	for title, want := range map[string]int{"trainer0": 3, "all trainer": 3, "server4": 2, "all server": 2} {
		t.Run(title, func(t *testing.T) {
			program := "../../../docs/examples/table.jq"
			out, err := exec.Command(jq, "-r", "--arg", "table", title, "-f", program, path).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			if len(lines) != want {
				t.Errorf("%s: %d rows instead of %d", title, len(lines), want)
			}
			for _, line := range lines {
				label, numbers, _ := strings.Cut(line, "\t")
				got := strings.Split(numbers, "\t")
				for i, cell := range got {
					if x, err := strconv.ParseFloat(cell, 64); err != nil {
						got[i] = "-"
					} else if i > 0 {
						got[i] = decimals(x)
					}
				}
				if diff := cmp.Diff(rows[title+"|"+label], got); diff != "" {
					t.Errorf("%s, %s (-printed +jq):\n%s", title, label, diff)
				}
			}
		})
	}
}
