package trace

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/record/timeline"
	"github.com/psbench/psbench/core/show/trace/tracetest"
	"github.com/psbench/psbench/sdk"
)

// synthetic returns a run with one server for every two trainers. Each iteration has the given number of buckets, and
// the ranks wait for each other.
func synthetic(trainers, iterations, buckets int) *result.Result {
	r := &result.Result{Connected: [][]int{nil}, Transport: "shm"}
	for b := range buckets {
		r.Buckets = append(r.Buckets, tensor.BucketSpec{Index: b, Elements: 1 << 20, Sparse: b == 1})
	}
	for rank := range trainers + trainers/2 {
		p := result.Process{Rank: rank, Kind: "trainer", Name: fmt.Sprintf("trainer%d", rank)}
		if rank >= trainers {
			p = result.Process{Rank: rank, Kind: "server", Name: fmt.Sprintf("server%d", rank)}
		}
		r.Processes = append(r.Processes, p)
	}
	for rank := range trainers {
		r.Connected[0] = append(r.Connected[0], rank)
	}
	stamp := func(rank int, typ, name string, a, b int, from, ns int64) {
		r.SeriesOf(rank, typ, name).Add(sdk.Measurement{Key: sdk.Key{A: int64(a), B: int64(b)}, StartNS: from,
			DurationNS: ns})
	}
	const iteration = 40_000_000
	for i := range iterations {
		at := int64(81_000_000_123 + i*iteration)
		for rank := range trainers {
			late := int64(1000 * rank)
			stamp(rank, "iteration_metric", "data", i/10, i%10, at+late, 1200)
			stamp(rank, "forward_metric", "forward_pass", i/10, i%10, at+late+1300, 9_000_000)
			stamp(rank, "iteration_metric", "backward", i/10, i%10, at+late+9_001_300, 19_000_000)
			stamp(rank, "iteration_metric", "exposed communication", i/10, i%10, at+late+28_001_300, 5_000_000)
			stamp(rank, "iteration_metric", "optimizer", i/10, i%10, at+late+33_001_300, 4_000_000)
			stamp(rank, "batch_level_metric", "batch_all", i/10, i%10, at+late+1300, 37_000_000)
			for b := range buckets {
				stamp(rank, "hook_future_metric", "rpc_dense", i, b, at+late+10_000_000+int64(b)*100_000, 500_000)
			}
		}
		for server := trainers; server < trainers+trainers/2; server++ {
			for b := range buckets {
				from := at + 10_010_000 + int64(b)*100_000
				stamp(server, "parameter_server_batch_metric", "param_index_batch", i, b, from, 450_000)
				stamp(server, "parameter_server_straggler_metric", "param_index_straggler", i, b, from, 20_000)
				stamp(server, "method_metric", "average computation", i, b, from+20_000, 100_000)
			}
		}
	}
	return r
}

// written returns the trace of some iterations, and requires that both readers accept it.
func written(t *testing.T, r *result.Result, from, to int64) (string, *tracetest.Trace) {
	t.Helper()
	tl, err := timeline.Of(r, from, to)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, r, tl); err != nil {
		t.Fatal(err)
	}
	trace, err := tracetest.Read(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := tracetest.Perfetto(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	requireAll(t, trace, shown)
	return b.String(), trace
}

// requireAll requires that Perfetto shows the whole trace.
func requireAll(t *testing.T, trace *tracetest.Trace, shown tracetest.Shown) {
	t.Helper()
	flows := 0
	for _, n := range trace.Flows {
		flows += n
	}
	if shown != (tracetest.Shown{Slices: len(trace.Slices), Flows: flows}) {
		t.Errorf("of %d slices and %d flows %+v are shown", len(trace.Slices), flows, shown)
	}
}

// Perfetto shows the whole example of docs/examples.
func TestExample(t *testing.T) {
	text, err := os.ReadFile("../../../docs/examples/dlrm.trace.json")
	if err != nil {
		t.Fatal(err)
	}
	trace, err := tracetest.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := tracetest.Perfetto(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	requireAll(t, trace, shown)
	if shown.Slices < 200 || shown.Flows < 60 {
		t.Errorf("it has %+v", shown)
	}
}

func TestWrite(t *testing.T) {
	text, trace := written(t, synthetic(2, 12, 3), 4, 6)
	if len(trace.Processes) != 3 || trace.Processes[1] != "trainer0" || trace.Processes[3] != "server2" {
		t.Errorf("processes %v", trace.Processes)
	}
	// Each of two trainers has, in each of two iterations: one slice for the iteration, five parts and three buckets.
	// The server has 18 slices.
	if n := 2*2*(1+5+3) + 2*9; len(trace.Slices) != n {
		t.Errorf("%d slices, want %d", len(trace.Slices), n)
	}
	if n := 2 * 2 * 3; trace.Flows["push"] != n || trace.Flows["answer"] != n || len(trace.Flows) != 2 {
		t.Errorf("flows %v, want %d of each", trace.Flows, n)
	}
	for _, line := range []string{
		`"otherData":{"iterations":"4..5",`,
		`{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"compute"}}`,
		`{"ph":"X","pid":1,"tid":1,"name":"iteration 4","cat":"compute","ts":0.000,"dur":37001.300,"args":{"iteration":4}}`,
		`{"ph":"X","pid":1,"tid":1,"name":"forward","cat":"compute","ts":1.300,"dur":9000.000,"args":{"iteration":4}}`,
		`"name":"bucket 0","cat":"communication","ts":10000.000,"dur":500.000,"args":{"iteration":4,"bucket":0,"bytes":4194304}}`,
		`"name":"bucket 1","cat":"communication","ts":10100.000,"dur":500.000,"args":{"iteration":4,"bucket":1}}`,
		`"name":"push","cat":"flow","id":1,"ts":10000.000}`,
		`"name":"push","cat":"flow","id":1,"bp":"e","ts":10010.000}`,
	} {
		t.Run(fmt.Sprintf("%.60s", line), func(t *testing.T) {
			if !strings.Contains(text, line) {
				t.Errorf("there is no %s in\n%s", line, text)
			}
		})
	}
}

// Names of plugins and their parts stay text, whatever characters they contain.
func TestHostileNames(t *testing.T) {
	name := "\"}]}\n</script>\xff\u2028"
	r := synthetic(1, 1, 1)
	r.Processes[0].Name = name
	r.SeriesOf(0, "codec_metric", name).Add(sdk.Measurement{StartNS: 81_010_000_123, DurationNS: 5})
	_, trace := written(t, r, 0, 1)
	if got := trace.Processes[1]; got != strings.ToValidUTF8(name, "\ufffd") {
		t.Errorf("the process is called %q", got)
	}
}

// A trainer of an asynchronous server may fetch the model while another trainer is already training. This early fetch
// belongs to no iteration.
func TestSlicesOfNoIteration(t *testing.T) {
	r := synthetic(2, 1, 1)
	r.Connected = [][]int{{0}, {1}}
	for rank := range 2 {
		r.SeriesOf(rank, "batch_update_metric", "fetching the model").Add(sdk.Measurement{StartNS: 81_000_000_000,
			DurationNS: 50})
	}
	r.SeriesOf(2, "batch_update_metric", "got update").Add(sdk.Measurement{StartNS: 81_001_000_000, DurationNS: 50})
	_, trace := written(t, r, 0, 1)
	found := 0
	for _, s := range trace.Slices {
		if _, ok := s.Args["iteration"]; !ok {
			found++
		}
	}
	if found != 4 {
		t.Errorf("%d slices are of no iteration, want 4", found)
	}
}

// The trace of 100 iterations of 8 trainers, with servers and 24 buckets in flight, takes less than 30 MB.
func TestSize(t *testing.T) {
	text, trace := written(t, synthetic(8, 100, 24), 0, 100)
	if len(text) >= 30e6 || len(trace.Slices) < 100*8*24 {
		t.Errorf("%d slices take %.1f MB", len(trace.Slices), float64(len(text))/1e6)
	}
	t.Logf("%d slices and %v flows in %.1f MB", len(trace.Slices), trace.Flows, float64(len(text))/1e6)
}

// Write reports errors of the disk.
func TestWriteFails(t *testing.T) {
	r := synthetic(2, 2, 2)
	tl, err := timeline.Of(r, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(full{}, r, tl); err == nil {
		t.Error("it did not fail")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no space left on device") }
