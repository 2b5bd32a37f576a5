package machine

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
)

// host returns the files of a machine that reports all facts.
func host() fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"proc/self/status": "Name:\tpsbench\nCpus_allowed:\t0f\nCpus_allowed_list:\t2-3,8\nMems_allowed_list:\t0\n",
		"proc/self/cgroup": "4:memory:/user/x\n1:cpu,cpuacct:/user\n0::/outer/inner\n",
		"proc/self/mountinfo": "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n" +
			"32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
		"proc/loadavg": "3.70 1.29 0.54 12/134 16513\n",
		cpuFolder + "/cpu2/cpufreq/scaling_governor":                      "powersave\n",
		cpuFolder + "/cpu3/cpufreq/scaling_governor":                      "performance\n",
		cpuFolder + "/cpu8/cpufreq/scaling_governor":                      "powersave\n",
		cpuFolder + "/cpu2/cache/index0/level":                            "1\n",
		cpuFolder + "/cpu2/cache/index0/type":                             "Data\n",
		cpuFolder + "/cpu2/cache/index0/size":                             "48K\n",
		cpuFolder + "/cpu2/cache/index0/shared_cpu_list":                  "2\n",
		cpuFolder + "/cpu2/cache/index1/level":                            "1\n",
		cpuFolder + "/cpu2/cache/index1/type":                             "Instruction\n",
		cpuFolder + "/cpu2/cache/index1/size":                             "32K\n",
		cpuFolder + "/cpu2/cache/index3/level":                            "3\n",
		cpuFolder + "/cpu2/cache/index3/type":                             "Unified\n",
		cpuFolder + "/cpu2/cache/index3/size":                             "32M\n",
		cpuFolder + "/cpu2/cache/index2/level":                            "2\n",
		cpuFolder + "/cpu2/cache/index2/size":                             "2048K\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
		"sys/fs/cgroup/outer/cpu.max":                                     "150000 100000\n",
		"sys/fs/cgroup/outer/inner/cpu.max":                               "max 100000\n",
		"sys/fs/cgroup/outer/inner/memory.max":                            "max\n",
		"sys/fs/cgroup/outer/memory.max":                                  "8589934592\n",
		"sys/fs/cgroup/cpu/user/cpu.cfs_quota_us":                         "-1\n",
		"sys/fs/cgroup/cpu/user/cpu.cfs_period_us":                        "100000\n",
		"sys/fs/cgroup/memory/user/x/memory.limit_in_bytes":               "9223372036854771712\n",
		"sys/fs/cgroup/memory/user/memory.limit_in_bytes":                 "4294967296\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func TestRead(t *testing.T) {
	load := 3.7
	want := Facts{
		Affinity: "2-3,8", Governor: "performance, powersave",
		Caches: []Cache{{1, 48, "2"}, {2, 2048, ""}, {3, 32 << 10, ""}},
		Limits: &Limits{CPUs: 1.5, MemoryBytes: 4 << 30},
		Load:   &load, Clock: &Clock{Source: "tsc"},
	}
	if d := cmp.Diff(want, read(host())); d != "" {
		t.Error(d)
	}
}

// If the kernel does not report a value, this value is absent, and all others are present.
func TestWithoutFiles(t *testing.T) {
	for missing, absent := range map[string]func(*Facts){
		"proc/self/status":    func(f *Facts) { f.Affinity, f.Governor, f.Caches = "", "", nil },
		"proc/loadavg":        func(f *Facts) { f.Load = nil },
		"proc/self/cgroup":    func(f *Facts) { f.Limits = nil },
		"proc/self/mountinfo": func(f *Facts) { f.Limits = nil },
		cpuFolder + "/cpu3/cpufreq/scaling_governor": func(f *Facts) { f.Governor = "powersave" },
		cpuFolder + "/cpu2/cache/index2/size": func(f *Facts) {
			f.Caches = append(f.Caches[:1:1], f.Caches[2])
		},
		"sys/fs/cgroup/outer/cpu.max": func(f *Facts) {
			f.Limits = &Limits{MemoryBytes: 4 << 30}
		},
		"sys/devices/system/clocksource/clocksource0/current_clocksource": func(f *Facts) { f.Clock = &Clock{} },
	} {
		t.Run(missing, func(t *testing.T) {
			files, want := host(), read(host())
			delete(files, missing)
			absent(&want)
			if d := cmp.Diff(want, read(files)); d != "" {
				t.Errorf("without %s: %s", missing, d)
			}
		})
	}
	if d := cmp.Diff(Facts{Clock: &Clock{}}, read(fstest.MapFS{})); d != "" {
		t.Errorf("without any: %s", d)
	}
}

// This machine reports facts, and its clock advances.
func TestOfThisMachine(t *testing.T) {
	f := Read(os.Environ())
	if parseCPUs(f.Affinity) == nil || f.Clock.StepNS <= 0 {
		t.Errorf("read %+v", f)
	}
	if c := MeasureCopy(); c == nil || c.GBps <= 0 || c.Cores < 1 || c.Bytes != copied {
		t.Errorf("copied at %+v", c)
	}
}

func TestStep(t *testing.T) {
	clock := func(steps ...int64) func() int64 {
		now, i := int64(100), 0
		return func() int64 { now += steps[i%len(steps)]; i++; return now }
	}
	for want, now := range map[int64]func() int64{
		20: clock(0, 0, 40, 20, 60), 0: clock(0), 7: clock(-50, 7, 8), 1: clock(1),
	} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			if got := step(now); got != want {
				t.Errorf("a step of %d, want %d", got, want)
			}
		})
	}
	if got := step(comm.Now); got <= 0 {
		t.Errorf("a step of %d ns", got)
	}
}

func TestVariables(t *testing.T) {
	long := string(make([]byte, longest))
	got := variables([]string{
		"OMP_NUM_THREADS=2", "OPENBLAS_CORETYPE=Zen", "MKL_DEBUG=a=b", "GOMAXPROCS=", "GOGC=off", "GOMEMLIMIT=1GiB",
		"SLURM_NTASKS=4", "PSBENCH_EPOCHS=\xff", "OMP_X=" + long + "y",
		"SLURM_JWT=s", "PSBENCH_TOKEN=s", "PSBENCH_API_key=s", "OMP_SECRET_X=s", "MKL_PASSWORD=s",
		"HOME=/home/s", "AWS_SECRET_ACCESS_KEY=s", "XOMP_X=s", "GOMAXPROCSX=s", "OMP", "OMP_WITHOUT",
	})
	want := map[string]string{
		"OMP_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Zen", "MKL_DEBUG": "a=b", "GOMAXPROCS": "", "GOGC": "off",
		"GOMEMLIMIT":   "1GiB",
		"SLURM_NTASKS": "4", "PSBENCH_EPOCHS": "�", "OMP_X": long + "…",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestParseCPUs(t *testing.T) {
	for list, want := range map[string][]int{
		"0": {0}, "0-3,8": {0, 1, 2, 3, 8}, "5-5": {5}, "": nil, "3-0": nil, "x": nil, "0,": nil, "-1": nil,
		"0-99999": nil,
		"0-65535": nil, "0-65534,1-9": nil,
	} {
		t.Run(list, func(t *testing.T) {
			if d := cmp.Diff(want, parseCPUs(list)); d != "" && list != "0-65535" {
				t.Errorf("%q: %s", list, d)
			}
		})
	}
}

func TestParseKiB(t *testing.T) {
	for text, want := range map[string]int{"48K": 48, "32M": 32 << 10, "7": 7, "0K": 0, "K": 0, "-1K": 0, "": 0,
		"9999999999K": 0} {
		t.Run(text, func(t *testing.T) {
			if got, ok := parseKiB(text); ok != (want > 0) || ok && got != want {
				t.Errorf("a size of %q is %d, %v, want %d", text, got, ok, want)
			}
		})
	}
}

// For any contents of the files, values stay in range and nothing fails.
func FuzzRead(f *testing.F) {
	f.Add("Cpus_allowed_list:\t2-3,8\n", "0::/a/b\n1:cpu:/x\n", "150000 100000\n", "48K\n", "3.70 1\n")
	f.Add("Cpus_allowed_list:\t0\n", "4:memory:/\n", "9223372036854771712\n", "32M\n", "NaN\n")
	f.Add("", "0::/../..\n", "max\n", "-1K\n", "Inf\n")
	f.Fuzz(func(t *testing.T, status, groups, limit, size, average string) {
		files := fstest.MapFS{}
		for name, text := range map[string]string{
			"proc/self/status": status, "proc/self/cgroup": groups, "proc/loadavg": average,
			"proc/self/mountinfo": "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n" +
				"35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/cpu.max": limit, "sys/fs/cgroup/memory/memory.limit_in_bytes": limit,
			cpuFolder + "/cpu0/cache/index0/size": size, cpuFolder + "/cpu0/cache/index0/level": "1",
			cpuFolder + "/cpu0/cpufreq/scaling_governor": size,
		} {
			files[name] = &fstest.MapFile{Data: []byte(text), Mode: fs.ModePerm}
		}
		got := read(files)
		if l := got.Load; l != nil && !(*l >= 0 && !math.IsInf(*l, 0)) {
			t.Errorf("a load of %v", *l)
		}
		if l := got.Limits; l != nil && (!(l.CPUs >= 0) || l.MemoryBytes < 0 || *l == (Limits{})) {
			t.Errorf("limits %+v", *l)
		}
		for _, c := range got.Caches {
			if c.KiB <= 0 || c.Level < 0 {
				t.Errorf("a cache %+v", c)
			}
		}
	})
}

// Kernels does not override variables that the user has set.
func TestKernels(t *testing.T) {
	t.Setenv(kernelsVariable, "Haswell")
	if got := Kernels(); got != nil {
		t.Errorf("beside the user's Haswell it gives %q", got)
	}
}
