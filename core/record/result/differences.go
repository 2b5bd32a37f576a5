package result

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/host/noise"
)

// Difference names something in which two runs differ, with the values of both runs as text.
type Difference struct {
	Name     string
	Old, New string // "none" if absent, "unknown" if the system did not report it
}

// Some values vary between runs on one machine. Such values count as different only if they differ by at least these
// thresholds.
const (
	differentCopy  = 0.2  // memory bandwidth, as a share of the larger one
	differentLoad  = 1.0  // load average
	differentShare = 0.02 // share of the machine's CPU time
	differentStep  = 4.0  // ratio between the steps of two clocks
)

// Differences lists the differences in machine, build and settings of libraries, in a fixed order. Differences omits
// values that one of the runs did not measure or record.
func (e Environment) Differences(to Environment) []Difference {
	var d found
	d.add("psbench", e.Psbench, to.Psbench)
	d.add("commit", e.Commit, to.Commit)
	d.add("Go", e.Go, to.Go)
	d.add("system", e.OS+"/"+e.Arch, to.OS+"/"+to.Arch)
	d.add("kernel", e.Kernel, to.Kernel)
	d.add("CPU", e.CPU, to.CPU)
	d.add("cores", strconv.Itoa(e.Cores), strconv.Itoa(to.Cores))
	d.add("memory", mib(e.MemoryMiB), mib(to.MemoryMiB))
	d.add("SIMD", e.SIMD, to.SIMD)
	d.add("BLAS", list(e.BLAS), list(to.BLAS))
	d.add("GPUs", list(e.GPUs), list(to.GPUs))
	if a, b := e.CUDA, to.CUDA; a != nil && b != nil { // otherwise one of the runs has no CUDA ranks
		d.add("CUDA driver", devices.Version(a.Driver), devices.Version(b.Driver))
		d.add("CUDA devices", list(a.Devices), list(b.Devices))
		d.add("MPS", onOff[a.MPS.Used], onOff[b.MPS.Used])
	}
	if e.GPUTopology != to.GPUTopology {
		d.add("GPU topology", "one", "another")
	}
	if e.Clock != nil && to.Clock != nil { // otherwise one of the runs did not record these values
		d.facts(e.Facts, to.Facts)
	}
	return d
}

// Differences lists how two runs differ in environment, programs of their processes, data and load of the machine.
func Differences(old, to *Result) []Difference {
	d := found(old.Environment.Differences(to.Environment))
	d.add("hosts", old.hosts(), to.hosts())
	d.add("transport", old.Transport, to.Transport)
	d.plugins(old.Plugins, to.Plugins)
	if old.Processes != nil && to.Processes != nil { // otherwise one of the runs ended before it had processes
		d = append(d, FactDifferences(Facts(old.Processes), Facts(to.Processes))...)
	}
	if a, b := old.Data, to.Data; a.Samples > 0 && b.Samples > 0 {
		d.add("samples of the data", strconv.Itoa(a.Samples), strconv.Itoa(b.Samples))
		d.add("held-out samples", strconv.Itoa(a.HeldOut), strconv.Itoa(b.HeldOut))
	}
	d.noise(old.Noise, to.Noise)
	return d
}

// hosts returns the names of the run's hosts, or "one" if there is only one.
func (r *Result) hosts() string {
	if r.Placement == nil || len(r.Placement.Hosts) < 2 {
		return "one"
	}
	var names []string
	for _, h := range r.Placement.Hosts {
		names = append(names, h.Name)
	}
	return strings.Join(names, ", ")
}

// onOff is the text for whether something is used.
var onOff = map[bool]string{true: "used", false: "not used"}

// found collects differences.
type found []Difference

// add adds a difference if the values are not equal.
func (d *found) add(name, old, to string) {
	if old != to {
		*d = append(*d, Difference{name, or(old, "unknown"), or(to, "unknown")})
	}
}

// facts adds the differences between two machines.
func (d *found) facts(old, to machine.Facts) {
	d.add("affinity", old.Affinity, to.Affinity)
	d.add("governor", old.Governor, to.Governor)
	d.add("caches", list(old.Caches), list(to.Caches))
	d.limits(old.Limits, to.Limits)
	if a, b := old.Copy, to.Copy; a != nil && b != nil && math.Abs(a.GBps-b.GBps) > differentCopy*max(a.GBps, b.GBps) {
		d.add("bandwidth of memory", fmt.Sprintf("%.1f GB/s", a.GBps), fmt.Sprintf("%.1f GB/s", b.GBps))
	}
	if a, b := old.Load, to.Load; a != nil && b != nil && math.Abs(*a-*b) >= differentLoad {
		d.add("load before", fmt.Sprintf("%.2f", *a), fmt.Sprintf("%.2f", *b))
	}
	d.add("clock", old.Clock.Source, to.Clock.Source)
	if a, b := float64(old.Clock.StepNS), float64(to.Clock.StepNS); max(a, b) > differentStep*min(a, b) {
		d.add("step of the clock", fmt.Sprintf("%.0f ns", a), fmt.Sprintf("%.0f ns", b))
	}
	d.maps("variable", old.Variables, to.Variables)
}

// limits adds the differences between two cgroup limits.
func (d *found) limits(old, to *machine.Limits) {
	text := func(l *machine.Limits) (cpus, memory string) {
		cpus, memory = "none", "none"
		if l != nil && l.CPUs > 0 {
			cpus = fmt.Sprintf("%g CPUs", l.CPUs)
		}
		if l != nil && l.MemoryBytes > 0 {
			memory = mib(l.MemoryBytes >> 20)
		}
		return cpus, memory
	}
	oldCPUs, oldMemory := text(old)
	cpus, memory := text(to)
	d.add("limit of CPUs", oldCPUs, cpus)
	d.add("limit of memory", oldMemory, memory)
}

// maps adds the entries that differ between two maps.
func (d *found) maps(name string, old, to map[string]string) {
	keys := slices.Concat(slices.Collect(maps.Keys(old)), slices.Collect(maps.Keys(to)))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		a, had := old[key]
		b, has := to[key]
		switch {
		case had && has:
			d.add(name+" "+key, strconv.Quote(a), strconv.Quote(b))
		case had:
			d.add(name+" "+key, strconv.Quote(a), "none")
		default:
			d.add(name+" "+key, "none", strconv.Quote(b))
		}
	}
}

// plugins adds the programs whose checksums differ.
func (d *found) plugins(old, to []Plugin) {
	if old == nil || to == nil { // older versions did not record plugins
		return
	}
	sums := func(plugins []Plugin) map[string]string {
		all := map[string]string{}
		for _, p := range plugins {
			all["program of plugin "+p.Name] = p.SHA256
			for path, sum := range p.Files {
				all["file "+path+" of plugin "+p.Name] = sum
			}
		}
		return all
	}
	a, b := sums(old), sums(to)
	names := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		old, to := or(a[name], "none"), or(b[name], "none")
		const digits = 12 // enough to distinguish most checksums
		if x, y := old[:min(digits, len(old))], to[:min(digits, len(to))]; x != y {
			old, to = x, y
		}
		d.add(name, old, to)
	}
}

// Facts returns the facts that parts reported about themselves, such as the version of a library, except for BLAS.
func Facts(processes []Process) map[string]string {
	values := map[string][]string{}
	for _, p := range processes {
		for key, value := range p.Facts {
			if !strings.HasPrefix(key, "blas") {
				values[key] = append(values[key], value)
			}
		}
	}
	all := map[string]string{}
	for key := range values {
		slices.Sort(values[key])
		all[key] = strings.Join(slices.Compact(values[key]), ", ")
	}
	return all
}

// FactDifferences lists the differences between the facts of two runs.
func FactDifferences(old, to map[string]string) []Difference {
	var d found
	d.maps("reported", old, to)
	return d
}

// noise adds a difference if the machine was much busier during one of the two measured passes.
func (d *found) noise(old, to []noise.Interval) {
	a, b := noise.Find(old, noise.Measured), noise.Find(to, noise.Measured)
	if a == nil || b == nil || a.Machine == nil || b.Machine == nil {
		return
	}
	share := func(name string, a, b float64) {
		if math.Abs(a-b) >= differentShare {
			d.add(name, fmt.Sprintf("%.0f %%", 100*a), fmt.Sprintf("%.0f %%", 100*b))
		}
	}
	share("other processes' CPU time", a.Share(a.Machine.Others), b.Share(b.Machine.Others))
	share("steal", a.Share(a.Machine.Steal), b.Share(b.Machine.Steal))
	if a.Load != nil && b.Load != nil && math.Abs(*a.Load-*b.Load) >= differentLoad {
		d.add("load at the end", fmt.Sprintf("%.2f", *a.Load), fmt.Sprintf("%.2f", *b.Load))
	}
}

// list joins values with commas. list returns "none" if values is empty.
func list[T any](values []T) string {
	var words []string
	for _, v := range values {
		words = append(words, strings.Trim(fmt.Sprint(v), "{}"))
	}
	return or(strings.Join(words, ", "), "none")
}

func mib(n int64) string { return fmt.Sprintf("%d MiB", n) }

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
