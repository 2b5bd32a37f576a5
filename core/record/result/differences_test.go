package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/host/noise"
)

func withPlugins(r *Result) *Result {
	r.Plugins = []Plugin{
		{Name: "builtin", SHA256: "0123456789abcdef"},
		{Name: "mine", SHA256: "aa", Files: map[string]string{"/mine.py": "bb"}},
	}
	r.Noise = []noise.Interval{{
		Name: noise.Measured, Duration: 1e9, Load: new(0.5),
		Machine: &noise.Machine{Cores: 2, Others: 2e7, Steal: 0},
	}}
	return r
}

func TestDifferences(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Result)
		want   []Difference
	}{
		"none": {func(*Result) {}, nil},
		"commit": {func(r *Result) { r.Environment.Commit = "unknown" },
			[]Difference{{"commit", "a3139f6", "unknown"}}},
		"system": {func(r *Result) { r.Environment.Arch = "arm64" },
			[]Difference{{"system", "linux/amd64", "linux/arm64"}}},
		"cores":  {func(r *Result) { r.Environment.Cores = 4 }, []Difference{{"cores", "2", "4"}}},
		"memory": {func(r *Result) { r.Environment.MemoryMiB = 1 }, []Difference{{"memory", "4096 MiB", "1 MiB"}}},
		"BLAS": {func(r *Result) { r.Environment.BLAS = nil },
			[]Difference{{"BLAS", "openblas of libopenblas.so.0 for Zen with 1 threads", "none"}}},
		"GPUs": {func(r *Result) { r.Environment.GPUs = nil },
			[]Difference{{"GPUs", "H100 550.54 81559", "none"}}},
		"topology": {func(r *Result) { r.Environment.GPUTopology = "X" },
			[]Difference{{"GPU topology", "one", "another"}}},
		"affinity": {func(r *Result) { r.Environment.Affinity = "" }, []Difference{{"affinity", "0-1", "unknown"}}},
		"governor": {func(r *Result) { r.Environment.Governor = "powersave" },
			[]Difference{{"governor", "performance", "powersave"}}},
		"caches": {func(r *Result) { r.Environment.Caches[0].KiB = 32 },
			[]Difference{{"caches", "L1d 48 KiB", "L1d 32 KiB"}}},
		"no limits": {func(r *Result) { r.Environment.Limits = nil },
			[]Difference{{"limit of CPUs", "1.5 CPUs", "none"}, {"limit of memory", "1024 MiB", "none"}}},
		"bandwidth": {func(r *Result) { r.Environment.Copy.GBps = 9 },
			[]Difference{{"bandwidth of memory", "12.5 GB/s", "9.0 GB/s"}}},
		"much alike": {func(r *Result) {
			r.Environment.Copy.GBps, r.Environment.Load, r.Environment.Clock.StepNS = 11, new(1.2), 40
		}, nil},
		"unmeasured": {func(r *Result) { r.Environment.Copy, r.Environment.Load = nil, nil }, nil},
		"load": {func(r *Result) { r.Environment.Load = new(1.5) },
			[]Difference{{"load before", "0.25", "1.50"}}},
		"clock": {func(r *Result) { r.Environment.Clock = &machine.Clock{Source: "hpet", StepNS: 400} },
			[]Difference{{"clock", "tsc", "hpet"}, {"step of the clock", "23 ns", "400 ns"}}},
		"variables": {func(r *Result) { r.Environment.Variables = map[string]string{"A": "", "GOGC": "50"} },
			[]Difference{{"variable A", "none", `""`}, {"variable GOGC", `"off"`, `"50"`}}},
		"older":     {func(r *Result) { r.Environment.Facts = machine.Facts{}; r.Plugins, r.Noise = nil, nil }, nil},
		"transport": {func(r *Result) { r.Transport = "tcp" }, []Difference{{"transport", "unix", "tcp"}}},
		"plugins": {func(r *Result) {
			r.Plugins = []Plugin{{Name: "builtin", SHA256: "0123456789abffff"}, {Name: "mine", SHA256: "aa"},
				{Name: "yours", SHA256: "cc"}}
		}, []Difference{
			{"file /mine.py of plugin mine", "bb", "none"},
			{"program of plugin builtin", "0123456789abcdef", "0123456789abffff"},
			{"program of plugin yours", "none", "cc"},
		}},
		"reported": {func(r *Result) {
			for i := range r.Processes {
				r.Processes[i].Facts = map[string]string{"torch": "2.6", "blas": "native"}
			}
		}, []Difference{{"reported torch", "none", `"2.6"`}}},
		"data": {func(r *Result) { r.Data.Samples, r.Data.HeldOut = 7, 3 },
			[]Difference{{"samples of the data", "100", "7"}, {"held-out samples", "20", "3"}}},
		"noise": {func(r *Result) {
			r.Noise[0].Machine.Others, r.Noise[0].Machine.Steal, r.Noise[0].Load = 2e8, 1e8, new(3.0)
		}, []Difference{
			{"other processes' CPU time", "1 %", "10 %"}, {"steal", "0 %", "5 %"}, {"load at the end", "0.50", "3.00"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			changed := withPlugins(example())
			c.change(changed)
			if d := cmp.Diff(c.want, Differences(withPlugins(example()), changed)); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			var back []Difference
			for _, w := range c.want {
				if w.Old == "one" {
					w.Old, w.New = w.New, w.Old
				}
				back = append(back, Difference{w.Name, w.New, w.Old})
			}
			if d := cmp.Diff(back, Differences(changed, withPlugins(example()))); d != "" && name != "topology" {
				t.Errorf("%s, back: %s", name, d)
			}
		})
	}
}
