// Package machine describes the parts of this machine that affect a measurement, except the processor: limits,
// tuning and load. It reads the kernel's files and leaves out what they do not have.
package machine

import (
	"io/fs"
	"strings"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/procfs"
)

// Facts are the state of the machine before the run's processes began, except Copy.
type Facts struct {
	// Affinity lists the CPUs on which psbench may run, in the kernel's format, e.g. 0-3,8.
	Affinity string `json:"affinity,omitempty"`
	// Governor is the frequency governor of these CPUs, e.g. performance; several if they differ.
	Governor string `json:"governor,omitempty"`
	// Caches are the data caches of the first of these CPUs, the nearest first.
	Caches []Cache `json:"caches,omitempty"`
	// Limits are the limits of psbench's cgroups.
	Limits *Limits `json:"limits,omitempty"`
	// Copy is the speed of copying memory, measured after the run's processes ended. Only a run that leaves its
	// result measures it.
	Copy *Copy `json:"copy,omitempty"`
	// Load is the one-minute load average when psbench began. The noise of the result has later ones.
	Load *float64 `json:"load,omitempty"`
	// Clock is the clock of all time stamps.
	Clock *Clock `json:"clock,omitempty"`
	// Variables are the environment variables that libraries, psbench or a scheduler read.
	Variables map[string]string `json:"variables,omitempty"`
}

// Limits are the tightest limits of all cgroups of psbench; 0 means no limit.
type Limits struct {
	CPUs        float64 `json:"cpus,omitempty"` // CPU time per time
	MemoryBytes int64   `json:"memory_bytes,omitempty"`
}

// Read returns the facts of this machine. It takes variables from environ, which has the format of os.Environ.
func Read(environ []string) Facts {
	f := read(procfs.Here())
	f.Clock.StepNS = step(comm.Now)
	f.Variables = variables(environ)
	return f
}

// read returns the facts in the files below a root.
func read(root fs.FS) Facts {
	affinity := allowed(root)
	cpus := parseCPUs(affinity)
	return Facts{
		Affinity: affinity,
		Governor: governor(root, cpus),
		Caches:   caches(root, cpus),
		Limits:   bounds(root),
		Load:     load(root),
		Clock: &Clock{
			Source: word(procfs.Text(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")),
		},
	}
}

// bounds returns the tightest limits of psbench's cgroups, or nil without any.
func bounds(root fs.FS) *Limits {
	l := Limits{CPUs: procfs.CPULimit(root), MemoryBytes: procfs.MemoryLimit(root)}
	if l == (Limits{}) {
		return nil
	}
	return &l
}

// load returns the one-minute load average, or nil if the kernel does not say.
func load(root fs.FS) *float64 {
	load, ok := procfs.Load(root)
	if !ok {
		return nil
	}
	return &load
}

// MemoryMiB returns the memory of this machine that the kernel manages, in MiB, ignoring cgroup limits; 0 if the
// kernel does not say.
func MemoryMiB() int64 { return procfs.MemTotal(procfs.Here()) >> 20 }

// word returns the first word of a file, at most as long as kernel words are.
func word(text string) string {
	fields := strings.Fields(text)
	const most = 64
	if len(fields) == 0 || len(fields[0]) > most {
		return ""
	}
	return fields[0]
}
