package result

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/host/noise"
	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/sdk"
)

// example returns a result with a value in every field.
func example() *Result {
	return &Result{
		Schema:    Schema,
		Complete:  true,
		Error:     "none",
		Started:   time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		StartedNS: 987654321,
		Command:   []string{"psbench", "--set", "data.path=<a&b>"},
		Config:    []Value{{"torch_seed", json.Number("18446744073709551615"), "flag --torch-seed"}},
		Environment: Environment{
			"v1", "a3139f6", "go1", "linux", "amd64", "6.1", "cpu", 2, 4096, "avx2",
			[]BLAS{{"openblas", "libopenblas.so.0", "Zen", "1"}}, []GPU{{"H100", "550.54", 81559}}, "GPU0 X",
			&devices.List{
				Driver: 12040, MPS: devices.MPS{Used: true, Known: "the driver says so"}, Visible: new("0"),
				Devices: []devices.Device{{Name: "H100", MemoryMiB: 81559, Capability: "9.0", UUID: "GPU-1",
					Mode: devices.Shared, Peers: []int{1}}},
			},
			machine.Facts{
				Affinity: "0-1", Governor: "performance", Caches: []machine.Cache{{Level: 1, KiB: 48, CPUs: "0"}},
				Limits: &machine.Limits{CPUs: 1.5, MemoryBytes: 1 << 30},
				Copy:   &machine.Copy{GBps: 12.5, Bytes: 1 << 26, Cores: 2},
				Load:   new(0.25), Clock: &machine.Clock{Source: "tsc", StepNS: 23},
				Variables: map[string]string{"GOGC": "off"},
			},
		},
		Warnings:  []string{"a warning"},
		Transport: "unix",
		Group:     "psbench's own, over unix",
		Connected: [][]int{{0}},
		Data:      Partition{100, 10, 10, []int{5, 5}, 0, true, []int{50, 50}, 20, true},
		Buckets: []tensor.BucketSpec{
			{Index: 0, Parameters: []tensor.Span{{Parameter: 1, Offset: 0, Elements: 8}}, Elements: 8},
			{
				Index: 1, Parameters: []tensor.Span{{Parameter: 0, Elements: 12}}, Elements: 12,
				Sparse: true, TableRows: 3, Width: 4, Capacity: 2,
			},
		},
		Tables: []comm.TableSpec{{Rows: 300, Width: 64}},
		Processes: []Process{{
			"trainer0", 0, "trainer", "ddp", "cuda", "", "cuda:0", 77, 12.5, 140.25,
			map[string]string{"blas": "gonum"}, 3000,
		}},
		Throughput: NewThroughput(500, 0.25),
		StartMS:    99.5,
		Losses:     [][]float64{{6.5, 6.25}},
		Evaluation: []Evaluation{{0, 30, 6.375, 0.75, new(0.5), new(0.625), new(0.6875),
			[]TrainerEvaluation{{0, 30, 0.75, new(0.5)}}}},
		Noise: []noise.Interval{{
			Name: noise.Measured, Duration: 250, Load: new(0.5),
			Machine: &noise.Machine{Cores: 2, Others: 20, Uncertainty: 30, Steal: 40, Idle: 50},
			Processes: []noise.Usage{{Name: "trainer0", PID: 77, CPU: 240, VoluntarySwitches: new(int64(3)),
				InvoluntarySwitches: new(int64(4))}},
		}},
		Counters: []Counter{{0, metric.Head{Type: "push_metric", Name: "sent", Unit: "B"}, 12345}},
		Gauges:   []*Gauge{exampleGauge()},
		Histograms: []Histogram{{0, metric.Head{Type: "push_metric", Name: "rows", Unit: "rows"},
			metric.Histogram{Bounds: []float64{1, 2.5}, Counts: []int64{7, 8, 9}, NaN: 1}}},
		Series: []*Series{NewSeries(0, "forward_metric", "forward_pass",
			sdk.Measurement{Key: sdk.Key{A: 0, B: 1}, StartNS: 1e15 + 1, DurationNS: 12345})},
		Parameters: [][]ParameterSummary{{{"embedding", 12, -1, 0.5, []float64{-1}, []float64{2}}}},

		ServerParameters: [][]ParameterSummary{{{"table", 6, 1, 0.25, []float64{1}, []float64{3}}}, {}},
	}
}

func exampleGauge() *Gauge {
	g := &Gauge{Rank: 0, Head: metric.Head{Type: "push_metric", Name: "staleness", Unit: "steps"}}
	g.Add(sdk.Key{A: 4, B: 2}, 2.5)
	return g
}

// Equal reports whether two gauges have the same rank, metric and observations.
func (g *Gauge) Equal(o *Gauge) bool {
	return g.Rank == o.Rank && g.Head == o.Head &&
		slices.Equal(slices.Collect(g.observations.All()), slices.Collect(o.observations.All()))
}

func still() {}

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	for i, change := range []func(*Result){
		func(*Result) {},
		func(r *Result) { r.Losses[0][1] = math.NaN() },
		func(r *Result) { r.Parameters[0][0].DeltaSumSq = math.NaN() },
		func(r *Result) { r.Evaluation[0].TrainLoss, r.Evaluation[0].Loss = math.NaN(), math.NaN() },
		func(r *Result) { r.Evaluation[0].Trainers[0].Loss = math.NaN() },
		func(r *Result) { r.Evaluation[0].AUC, r.Evaluation[0].Trainers[0].Accuracy = nil, nil },
		func(r *Result) { r.ServerParameters[0][0].DeltaSum = math.NaN() },
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			want := example()
			change(want)
			if err := Write(path, want, still); err != nil {
				t.Fatal(err)
			}
			got, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("written and read (-want +got):\n%s", diff)
			}
		})
	}
	onlyFile(t, path)
}

func TestWriteReplacesTheFileBehindALink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "run.json"), filepath.Join(dir, "latest.json")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run.json", link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, example(), still); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Readlink(link); err != nil {
		t.Error(err)
	}
	if _, err := Read(file); err != nil {
		t.Error(err)
	}
}

func TestWriteFailures(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	unwritable := example()
	unwritable.Config[0].Value = func() {}
	if err := Write(path, unwritable, still); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error of a value that JSON cannot hold: %v", err)
	}
	if data, err := os.ReadFile(path); string(data) != "old" {
		t.Errorf("the old file is now %q, %v", data, err)
	}
	onlyFile(t, path)

	err := Write("/dev/full", example(), still)
	if want := "cannot write the result to /dev/full: no space left on device"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestAnnounce(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "there.json")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "new.json"): "",
		file:                           "",
		os.DevNull:                     "",
		"/dev/full":                    "",
		dir:                            "it is a directory, name a file in it",
		dir + "/no/run.json":           "no file can be made in directory " + dir + "/no: no such file or directory",
		file + "/run.json":             "not a directory",
		"/proc/run.json":               "no file can be made in directory /proc",
		"":                             "the path of the result is empty",
	} {
		t.Run(path, func(t *testing.T) {
			err := Announce(path, &Result{Schema: Schema, Error: Running})
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("Announce(%q) = %v, want %q", path, err, want)
			}
			if want != "" && Write(path, example(), still) == nil {
				t.Errorf("Write(%q) gave no error", path)
			}
			if want != "" || !strings.HasPrefix(path, dir) {
				return
			}
			if r, err := Read(path); err != nil || r.Complete || r.Error != Running {
				t.Errorf("%s holds %v, %v", path, r, err)
			}
		})
	}
	if err := os.Remove(filepath.Join(dir, "new.json")); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, file)
}

func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("beside %s: %v, %v", path, entries, err)
	}
}

func TestParseErrors(t *testing.T) {
	ok, err := json.Marshal(example())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ data, want string }{
		"empty":     {"", "line 1, column 1: unexpected end of JSON input"},
		"malformed": {"{\n  \"schema\" 1}", "line 2, column 12: invalid character '1'"},
		"no object": {"[]", "it must hold an object: {...}"},
		"no schema": {"{}", `there is no "schema": a result file starts with "psbench.result/2"`},
		"newer": {`{"schema":"psbench.result/4"}`,
			`schema is "psbench.result/4", but this psbench reads "psbench.result/2" and "psbench.result/1"`},
		"unknown": {`{"schema":"psbench.result/2","samples":[]}`, `line 1, column 30: unknown key "samples"`},
		"unknown 1": {`{"schema":"psbench.result/1","serie":[]}`,
			`line 1, column 30: unknown key "serie"; did you mean "series"?`},
		"in series": {strings.Replace(string(ok), `"key_a"`, `"key":[],"key_a"`, 1),
			`series 0: unknown key "key"; the keys are rank, type, name, key_a, key_b, start_ns, duration_ns`},
		"in sample": {`{"schema":"psbench.result/1","samples":[{"x":1}]}`, `sample 0: json: unknown field "x"`},
		"no list":   {`{"schema":"psbench.result/1","samples":{}}`, `line 1, column 41: "samples" must be a list`},
		"columns": {strings.Replace(string(ok), `"key_b":[1]`, `"key_b":[]`, 1),
			"series 0 (rank 0, forward_metric, forward_pass): its columns have unequal lengths: 1 key_a, 0 key_b, 1 start_ns, 1 duration_ns"},
		"fraction": {strings.Replace(string(ok), `"key_b":[1]`, `"key_b":[1.5]`, 1),
			"series 0 (rank 0, forward_metric, forward_pass): key_b has 1.5 but must have whole numbers"},
		"large": {strings.Replace(string(ok), `"key_b":[1]`, `"key_b":[9223372036854775808]`, 1),
			"key_b has 9223372036854775808, which is beyond 2^61"},
		"overflow": {
			strings.NewReplacer(`"key_a":[0]`, `"key_a":[0,0]`, `"key_b":[1]`, `"key_b":[1,9223372036854775807]`,
				`,"duration_ns":[`, `,"duration_ns":[1,`, `"start_ns":[`, `"start_ns":[1,`).Replace(string(ok)),
			"series 0 (rank 0, forward_metric, forward_pass): measurement 1 has a number beyond 2^61",
		},
		"started": {strings.Replace(string(ok), `"started_ns":987654321`, `"started_ns":-9223372036854775808`, 1),
			"started_ns is -9223372036854775808, which is beyond 2^61"},
		"overflow 1": {`{"schema":"psbench.result/1","samples":[{"key":"0,0"},{"key":"0,-9223372036854775808"}]}`,
			"sample 1: a number is beyond 2^61"},
		"twice": {string(ok) + "{}", "after top-level value"},
		"bad key": {`{"schema":"psbench.result/1","samples":[{"key":"0,x"}]}`,
			`sample 0: key "0,x" is not two whole numbers and a comma between them`},
		"bad rank": {strings.Replace(string(ok), `{"rank":0,"type":"forward`, `{"rank":7,"type":"forward`, 1),
			`series 0 (rank 7, forward_metric, forward_pass): no trainer, server or data of "processes" has that rank`},
		"bad rank 1": {`{"schema":"psbench.result/1","samples":[{"key":"0,0","type":"a","name":"b c"}]}`,
			`series 0 (rank 0, a, b c): no trainer, server or data of "processes" has that rank`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse([]byte(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: error is %v, want %q", name, err, test.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	data, err := json.Marshal(example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schema":"psbench.result/2","losses":[null,[null]],"parameters":[[{}]]}`))
	f.Add([]byte(`{"schema":"psbench.result/2","evaluation":[{"loss":null,"trainers":[{}]},{}]}`))
	f.Add([]byte(`{"schema":"psbench.result/2","config":[{"value":{"a":[1e999]}}]}`))
	f.Add([]byte(`{"schema":"psbench.result/2","processes":[{"kind":"server"}],"series":[{"key_a":[1,-1],"key_b":[2,3],"start_ns":[4,5],"duration_ns":[6,7]}]}`))
	f.Add([]byte(`{"schema":"psbench.result/2","processes":[{"kind":"server"}],"gauges":[{"unit":"B","key_a":[1,-1],"key_b":[2,3],"value":[4,null]}]}`))
	f.Add([]byte(`{"schema":"psbench.result/2","processes":[{"kind":"server"}],"histograms":[{"unit":"B","bounds":[1],"counts":[2,3],"nan":4}],"counters":[{"unit":"%","value":3}]}`))
	f.Add([]byte(`{"schema":"psbench.result/1","processes":[{"kind":"server"}],"samples":[{"key":"1,2"},{"type":"a","key":"0,0"},{"key":"1,3"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parse(data)
		if err != nil {
			return
		}
		once, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("%q was read but cannot be written: %v", data, err)
		}
		again, err := parse(once)
		if err != nil {
			t.Fatalf("%q was written but cannot be read: %v", once, err)
		}
		if twice, err := json.Marshal(again); err != nil || string(twice) != string(once) {
			t.Fatalf("%q became %q, %v", once, twice, err)
		}
	})
}

func TestCapture(t *testing.T) {
	e := Capture()
	if e.Psbench == "" || e.Go != runtime.Version() || e.Cores < 1 {
		t.Errorf("environment %+v", e)
	}
	if runtime.GOOS == "linux" && (e.Kernel == "unknown" || e.MemoryMiB < 1) {
		t.Errorf("environment %+v", e)
	}
}
