package result

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/internal/documented"
	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/sdk"
)

// numbersFile writes a file with numbers that are not durations, and returns its path.
func numbersFile(t *testing.T) string {
	t.Helper()
	r := example()
	r.Processes = append(r.Processes, Process{Name: "server1", Rank: 1, Kind: "server"})
	r.Count(1, r.Counters[0].Head, 55)
	r.Count(1, metric.Head{Type: "push_metric", Name: "dropped", Unit: "rows"}, 3)
	other := r.GaugeOf(1, r.Gauges[0].Head)
	for i, x := range []float64{1, 0, -0.5, 8} {
		other.Add(sdk.Key{A: int64(i)}, x)
	}
	path := filepath.Join(t.TempDir(), "run.json")
	if err := Write(path, r, still); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDocumentedQueryOfCounters(t *testing.T) {
	jq, err := exec.LookPath("jq")
	if err != nil {
		t.Skip("jq is not installed")
	}
	out, err := exec.Command(jq, "-r", "-f", "../../../docs/examples/counters.jq", numbersFile(t)).CombinedOutput()
	if d := cmp.Diff("push_metric,dropped\t3\trows\npush_metric,sent\t12400\tB\n", string(out)); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestDocumentedPandasOfGauges(t *testing.T) {
	stdout, stderr := documented.Pandas(t, "../../../docs/examples/gauges.py",
		"print(*observations[['rank', 'key_a', 'key_b']].sum(), file=sys.stderr)", numbersFile(t))
	want := "type,name,unit,0.25,0.5,0.75\npush_metric,staleness,steps,0.0,1.0,2.5\n"
	if d := cmp.Diff(want, stdout) + cmp.Diff("4 10 2\n", stderr); d != "" {
		t.Error(d)
	}
}
