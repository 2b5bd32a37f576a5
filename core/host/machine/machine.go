// Package machine describes the parts of this machine that affect a measurement, except the processor: limits, tuning
// and load. The package reads the kernel's files. Facts that these files do not contain are omitted.
package machine

import (
	"io/fs"
	"strings"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/procfs"
)

// Facts describes the state of the machine before the run's processes started. Only Copy is measured later.
type Facts struct {
	// Affinity lists the CPUs on which psbench may run, in the kernel's format, such as 0-3,8.
	Affinity string `json:"affinity,omitempty"`
	// Governor is the frequency governor of these CPUs, such as performance. Governor lists several governors if they
	// differ.
	Governor string `json:"governor,omitempty"`
	// Caches lists the data caches of the first of these CPUs, from the innermost to the outermost.
	Caches []Cache `json:"caches,omitempty"`
	// Limits are the limits of psbench's cgroups.
	Limits *Limits `json:"limits,omitempty"`
	// Copy is the speed of copying memory, measured after the run's processes have ended. Only runs that store their
	// result measure it.
	Copy *Copy `json:"copy,omitempty"`
	// Load is the one-minute load average when psbench started. The noise of the result contains later values.
	Load *float64 `json:"load,omitempty"`
	// Clock is the clock of all timestamps.
	Clock *Clock `json:"clock,omitempty"`
	// Variables contains the environment variables that libraries, psbench or a scheduler read.
	Variables map[string]string `json:"variables,omitempty"`
}

// Limits contains the tightest limits of all cgroups that contain psbench. 0 means no limit.
type Limits struct {
	CPUs        float64 `json:"cpus,omitempty"` // CPU time per wall-clock time
	MemoryBytes int64   `json:"memory_bytes,omitempty"`
}

// Read returns the facts about this machine. Read takes variables from environ, which has the format of os.Environ.
func Read(environ []string) Facts {
	f := read(procfs.Here())
	f.Clock.StepNS = step(comm.Now)
	f.Variables = variables(environ)
	return f
}

// read returns the facts from the files below root.
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

// bounds returns the tightest limits of psbench's cgroups, or nil if there are none.
func bounds(root fs.FS) *Limits {
	l := Limits{CPUs: procfs.CPULimit(root), MemoryBytes: procfs.MemoryLimit(root)}
	if l == (Limits{}) {
		return nil
	}
	return &l
}

// load returns the one-minute load average, or nil if the kernel does not report it.
func load(root fs.FS) *float64 {
	load, ok := procfs.Load(root)
	if !ok {
		return nil
	}
	return &load
}

// MemoryMiB returns the memory of this machine that the kernel manages, in MiB. MemoryMiB ignores cgroup limits.
// MemoryMiB returns 0 if the kernel does not report this memory.
func MemoryMiB() int64 { return procfs.MemTotal(procfs.Here()) >> 20 }

// word returns the first word of a file. word limits the length to the length of the kernel's words.
func word(text string) string {
	fields := strings.Fields(text)
	const most = 64
	if len(fields) == 0 || len(fields[0]) > most {
		return ""
	}
	return fields[0]
}
