// Package machine says what of this machine a measurement depends on, beside its processor: what
// its processes may use, how it is tuned and how busy it is. It is read from the files of the
// kernel; of what they do not tell there is nothing.
package machine

import (
	"io/fs"
	"strings"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/procfs"
)

// Facts are what a run found before its processes began, its copies apart.
type Facts struct {
	// Affinity is the CPUs that psbench may run on, as the kernel lists them, e.g. 0-3,8.
	Affinity string `json:"affinity,omitempty"`
	// Governor is how the frequency of those CPUs is chosen, e.g. performance; several where they
	// differ.
	Governor string `json:"governor,omitempty"`
	// Caches are those of data of the first of these CPUs, the nearest first.
	Caches []Cache `json:"caches,omitempty"`
	// Limits are those of the cgroups that psbench runs in.
	Limits *Limits `json:"limits,omitempty"`
	// Copy is how fast memory was copied once the run's processes were gone; only a run that
	// leaves its result measures it.
	Copy *Copy `json:"copy,omitempty"`
	// Load is the load average over a minute when psbench began. Later ones are in the noise of
	// the result.
	Load *float64 `json:"load,omitempty"`
	// Clock is the one of all time stamps.
	Clock *Clock `json:"clock,omitempty"`
	// Variables are those of the environment that libraries, psbench or a scheduler read.
	Variables map[string]string `json:"variables,omitempty"`
}

// Limits are the tightest of all cgroups that psbench is in; 0 is no limit.
type Limits struct {
	CPUs        float64 `json:"cpus,omitempty"` // CPU time per time
	MemoryBytes int64   `json:"memory_bytes,omitempty"`
}

// Read reads what this machine tells, and takes the variables from an environment as os.Environ
// gives it.
func Read(environ []string) Facts {
	f := read(procfs.Here())
	f.Clock.StepNS = step(comm.Now)
	f.Variables = variables(environ)
	return f
}

// read is what the files below a root tell.
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

// bounds returns the tightest limits of psbench's cgroups, nil without any.
func bounds(root fs.FS) *Limits {
	l := Limits{CPUs: procfs.CPULimit(root), MemoryBytes: procfs.MemoryLimit(root)}
	if l == (Limits{}) {
		return nil
	}
	return &l
}

// load returns the load average over a minute, nil if the kernel does not tell.
func load(root fs.FS) *float64 {
	load, ok := procfs.Load(root)
	if !ok {
		return nil
	}
	return &load
}

// MemoryMiB returns the memory that the kernel manages on this machine in MiB, whatever cgroups allow of it;
// 0 if the kernel does not tell.
func MemoryMiB() int64 { return procfs.MemTotal(procfs.Here()) >> 20 }

// word is the first word of a file, as long as words of the kernel are.
func word(text string) string {
	fields := strings.Fields(text)
	const most = 64
	if len(fields) == 0 || len(fields[0]) > most {
		return ""
	}
	return fields[0]
}
