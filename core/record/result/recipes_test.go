package result

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/internal/documented"
	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/sdk"
)

// recipe returns the last program in this language from docs/result.md, and the path of a file for it. The program
// reads numbers that are not durations, and the file contains such numbers.
func recipe(t *testing.T, language string) (program, path string) {
	t.Helper()
	doc, err := os.ReadFile("../../../" + docFile)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.LastIndex(string(doc), "```"+language+"\n")
	if at < 0 {
		t.Fatalf("docs/result.md has no program in %s", language)
	}
	_, program, _ = strings.Cut(string(doc)[at:], "\n")
	program, _, _ = strings.Cut(program, "```")

	r := example()
	r.Processes = append(r.Processes, Process{Name: "server1", Rank: 1, Kind: "server"})
	r.Count(1, r.Counters[0].Head, 55)
	r.Count(1, metric.Head{Type: "push_metric", Name: "dropped", Unit: "rows"}, 3)
	other := r.GaugeOf(1, r.Gauges[0].Head)
	for i, x := range []float64{1, 0, -0.5, 8} {
		other.Add(sdk.Key{A: int64(i)}, x)
	}
	path = filepath.Join(t.TempDir(), "run.json")
	if err := Write(path, r, still); err != nil {
		t.Fatal(err)
	}
	return program, path
}

func TestDocumentedQueryOfCounters(t *testing.T) {
	jq, err := exec.LookPath("jq")
	if err != nil {
		t.Skip("jq is not installed")
	}
	query, path := recipe(t, "jq")
	out, err := exec.Command(jq, "-r", query, path).CombinedOutput()
	if d := cmp.Diff("push_metric,dropped\t3\trows\npush_metric,sent\t12400\tB\n", string(out)); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestDocumentedPandasOfGauges(t *testing.T) {
	python := documented.Python("pandas")
	if python == "" {
		t.Skip("pandas is not installed")
	}
	program, path := recipe(t, "python")
	program += "print(*observations[['rank', 'key_a', 'key_b']].sum(), file=sys.stderr)"
	cmd := exec.Command(python, "-c", program, path)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	want := "type,name,unit,0.25,0.5,0.75\npush_metric,staleness,steps,0.0,1.0,2.5\n"
	if d := cmp.Diff(want, stdout.String()) + cmp.Diff("4 10 2\n", stderr.String()); d != "" {
		t.Error(d)
	}
}
