package noise

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/internal/procfs"
)

// host is a fake machine with four cores, with the files and clocks of its kernel.
type host struct {
	fstest.MapFS
	at     time.Time
	clocks map[int]time.Duration

	throttled machine.Throttled
}

func newHost() *host { return &host{MapFS: fstest.MapFS{}, clocks: map[int]time.Duration{}} }

// machine sets the CPU times of all cores, in ticks, and the load.
func (h *host) machine(busy, idle, iowait, steal int, load float64) {
	h.write("stat", fmt.Sprintf("cpu %d 0 0 %d %d 0 0 %d 0 0\ncpu0\ncpu1\ncpu2\ncpu3\n", busy, idle, iowait, steal))
	h.write("loadavg", fmt.Sprintf("%.2f 0 0 1/1 1\n", load))
}

// process sets the usage of a process. ticks and children are the values in the file stat; clock is the CPU clock.
func (h *host) process(pid, group, ticks, children int, clock time.Duration) {
	h.write(fmt.Sprintf("%d/stat", pid),
		fmt.Sprintf("%d (x) S 1 %d 0 0 -1 0 0 0 0 0 %d 0 %d 0 20", pid, group, ticks, children))
	if clock > 0 {
		h.clocks[pid] = clock
	}
}

// thread sets the context switches of a thread and the processes that it started.
func (h *host) thread(pid, tid, voluntary, involuntary int, children string) {
	folder := fmt.Sprintf("%d/task/%d/", pid, tid)
	h.write(folder+"status", fmt.Sprintf("Name:\tx\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n",
		voluntary, involuntary))
	h.write(folder+"children", children)
}

func (h *host) write(name, text string) { h.MapFS["proc/"+name] = &fstest.MapFile{Data: []byte(text)} }

// meter returns a Meter that measures the host.
func (h *host) meter(processes ...Process) *Meter {
	return &Meter{
		source: source{
			root: h, now: func() time.Time { return h.at },
			clock: func(pid int) (time.Duration, bool) { cpu, ok := h.clocks[pid]; return cpu, ok },

			throttled: func() machine.Throttled { return h.throttled },
		},
		processes: func() []Process { return processes },
	}
}

var run = []Process{{"core", 10, true}, {"supervisor", 20, false}, {"trainer0", 30, false}, {"server1", 40, false}}

// start returns a host on which a run has started, and its Meter.
func start() (*host, *Meter) {
	h := newHost()
	h.machine(1000, 5000, 100, 10, 0.5)
	h.process(10, 10, 1, 0, time.Second)
	h.thread(10, 10, 100, 10, "20")
	h.process(20, 20, 0, 0, time.Second)
	h.thread(20, 21, 0, 0, "30 40")
	h.process(30, 30, 0, 0, time.Second)
	h.thread(30, 30, 1000, 100, "")
	h.thread(30, 31, 1000, 100, "")
	h.process(40, 40, 0, 0, time.Second)
	h.thread(40, 40, 1, 2, "")
	m := h.meter(run...)
	m.Begin(Measured)
	return h, m
}

const s = time.Second

// An interval contains the usage of each process, including its children. All other CPU time counts as time of others.
func TestIntervals(t *testing.T) {
	h, m := start()
	h.at = h.at.Add(10 * s) // 40 s of CPU time on four cores
	h.machine(1000+2400, 5000+1400, 100+100, 10+100, 2.5)
	h.process(10, 10, 1, 200, s+s/10) // its children do not count
	h.thread(10, 10, 100, 10, "20 70")
	h.process(70, 10, 0, 0, s)
	h.process(30, 30, 0, 0, s+4*s)
	h.thread(30, 30, 1007, 100, "50")         // has a running child
	h.thread(30, 32, 3, 4, "")                // a new thread
	delete(h.MapFS, "proc/30/task/31/status") // a thread that has ended
	delete(h.MapFS, "proc/30/task/31/children")
	h.process(50, 30, 0, 0, 2*s)
	h.thread(50, 50, 5, 6, "")
	h.thread(20, 21, 0, 0, "30 40 60") // has an orphan of the trainer's group
	h.process(60, 30, 300, 0, 0)       // has no CPU clock
	h.thread(60, 60, 0, 1, "")
	h.process(40, 40, 0, 150, 2*s) // a child of this process has ended
	h.thread(40, 40, 1, 3, "")
	m.End()
	load, zero := 2.5, int64(0)
	count := func(n int64) *int64 { return &n }
	want := []Interval{{
		Name: Measured, Duration: 10 * s, Load: &load,
		Machine: &Machine{Cores: 4, Idle: 15 * s, Steal: s, Others: 24*s - s/10 - 9*s - 5*s/2,
			Uncertainty: 6 * procfs.Tick},
		Processes: []Usage{
			{"core", 10, s / 10, &zero, &zero},
			{"supervisor", 20, 0, &zero, &zero},
			{"trainer0", 30, 9 * s, count(7 + 3 + 5), count(4 + 6 + 1)},
			{"server1", 40, s + 3*s/2, &zero, count(1)},
		},
	}}
	if d := cmp.Diff(want, m.Intervals()); d != "" {
		t.Error(d)
	}
}

// If others or steal took more than 5 % of the machine's CPU time, there is a warning. The uncertainty is subtracted
// first.
func TestWarnings(t *testing.T) {
	for name, c := range map[string]struct {
		others, steal time.Duration // of 40 s of CPU time
		want          []string
	}{
		"a quiet machine": {0, 0, nil},
		"others 4.9 %":    {1960*time.Millisecond + 4*procfs.Tick, 0, nil},
		"others 5.1 %": {2040*time.Millisecond + 4*procfs.Tick, 0, []string{
			"other processes took 5 % of the machine's CPU time during the measured pass (2.08 of 40.00 s): measure again on a quiet machine",
		}},
		"others 5.05 %, of which some may be imagined": {2020 * time.Millisecond, 0, nil},
		"steal 4.9 %": {0, 1960*time.Millisecond + procfs.Tick, nil},
		"both": {8 * s, 2040*time.Millisecond + procfs.Tick, []string{
			"other processes took 20 % of the machine's CPU time during the measured pass (8.00 of 40.00 s): measure again on a quiet machine",
			"other guests of the hypervisor (steal) took 5 % of the machine's CPU time during the measured pass (2.05 of 40.00 s): measure again on a quiet machine",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h, m := start()
			h.at = h.at.Add(10 * s)
			ours := 12 * s
			h.process(30, 30, 0, 0, s+ours)
			busy, steal := int((ours+c.others)/procfs.Tick), int(c.steal/procfs.Tick)
			h.machine(1000+busy, 5000+4000-busy-steal, 100, 10+steal, 1)
			m.Begin(After)
			h.machine(90000, 5000, 100, 90000, 1) // does not affect the measured pass
			m.End()
			if d := cmp.Diff(c.want, Warnings(m.Intervals(), "the measured pass")); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		})
	}
}

// Throttling causes a warning only if it affects more than 5 % of the measured pass.
func TestThrottling(t *testing.T) {
	for name, c := range map[string]struct {
		quota, heat time.Duration // of an interval of 10 s
		want        []string
	}{
		"hardly": {s / 2, s / 2, nil},
		"quota": {12 * s, 0, []string{
			"processes were throttled for 12.00 s during the 10.00 s of the measured pass: measure again without the cgroup's limit of CPU time, which is counted on each core",
		}},
		"heat": {0, s,
			[]string{
				"a core was throttled for 1.00 s during the 10.00 s of the measured pass: measure again on a cooler machine",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			h, m := start()
			h.throttled.Quota, h.throttled.Heat = 5*s, 5*s
			m.Begin(Measured)
			h.at, h.throttled.Quota, h.throttled.Heat = h.at.Add(10*s), 5*s+c.quota, 5*s+c.heat
			m.Begin(After)
			h.throttled.Quota = 99 * s
			m.End()
			if d := cmp.Diff(c.want, Warnings(m.Intervals()[1:], "the measured pass")); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		})
	}
}

// If the system does not report a value, this value is absent, and all others are present.
func TestWithoutFiles(t *testing.T) {
	full := Interval{}
	for name, c := range map[string]struct {
		change func(*host)
		absent func(*Interval)
	}{
		"all there": {func(*host) {}, func(*Interval) {}},
		"no loadavg": {func(h *host) { delete(h.MapFS, "proc/loadavg") },
			func(i *Interval) { i.Load = nil }},
		"no stat": {func(h *host) { delete(h.MapFS, "proc/stat") },
			func(i *Interval) { i.Machine = nil }},
		"a stat of nothing": {func(h *host) { h.write("stat", "") }, func(i *Interval) { i.Machine = nil }},
		"times that stand still": {func(h *host) { h.machine(1000, 5000, 100, 10, 2.5) },
			func(i *Interval) { i.Machine = nil }},
		"another core": {func(h *host) { h.write("stat", string(h.MapFS["proc/stat"].Data)+"cpu4\n") },
			func(i *Interval) { i.Machine = nil }},
		"no threads": {func(h *host) {
			maps.DeleteFunc(h.MapFS, func(name string, _ *fstest.MapFile) bool {
				return strings.HasPrefix(name, "proc/30/task")
			})
		}, func(i *Interval) { i.Processes[2].VoluntarySwitches, i.Processes[2].InvoluntarySwitches = nil, nil }},
		"no switches": {func(h *host) { h.write("30/task/31/status", "Name:\tx\n") },
			func(i *Interval) { i.Processes[2].VoluntarySwitches, i.Processes[2].InvoluntarySwitches = nil, nil }},
		"a process that is gone": {func(h *host) { delete(h.MapFS, "proc/40/stat") },
			func(i *Interval) { i.Machine, i.Processes = nil, i.Processes[:3] }},
		"nothing at all": {func(h *host) { clear(h.MapFS) },
			func(i *Interval) { i.Load, i.Machine, i.Processes = nil, nil, []Usage{} }},
	} {
		interval := func(change func(*host)) Interval {
			h, m := start()
			h.at = h.at.Add(10 * s)
			h.machine(3000, 7000, 100, 10, 2.5)
			change(h)
			m.End()
			return m.Intervals()[0]
		}
		full = interval(func(*host) {})
		c.absent(&full)
		if d := cmp.Diff(full, interval(c.change)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// The system's real files describe this process and a child for which it waited. The times of the child are rounded to
// ticks.
func TestOfThisProcess(t *testing.T) {
	m := NewMeter(func() []Process { return []Process{{Name: "test", PID: os.Getpid()}} })
	m.Begin(Measured)
	began := time.Now()
	for time.Since(began) < 100*time.Millisecond { // CPU time for each part
	}
	spin := exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
	if err := spin.Run(); err != nil {
		t.Fatal(err)
	}
	m.End()
	i := m.Intervals()[0]
	if len(i.Processes) != 1 || i.Machine == nil || i.Load == nil || i.Processes[0].VoluntarySwitches == nil {
		t.Fatalf("the system does not tell: %+v", i)
	}
	child := spin.ProcessState.SystemTime() + spin.ProcessState.UserTime()
	if got := i.Processes[0].CPU; got+2*procfs.Tick < child || got > i.Duration*time.Duration(i.Machine.Cores)+child {
		t.Errorf("this process used %v, its child alone %v, in %v", got, child, i.Duration)
	}
	if all := i.Duration * time.Duration(i.Machine.Cores); i.Machine.Others > all ||
		i.Machine.Idle > all+i.Machine.Uncertainty {
		t.Errorf("in %v there were %+v", all, i.Machine)
	}
}
