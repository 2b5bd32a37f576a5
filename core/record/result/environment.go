package result

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/internal/procfs"
	"github.com/psbench/psbench/internal/simd"
)

// Environment describes the machine and the build.
type Environment struct {
	Psbench string `json:"psbench"`
	// Commit is the commit that psbench was built from: the output of "git describe --always --dirty", or the
	// revision that the Go tool stamped, or "unknown".
	Commit    string `json:"commit"`
	Go        string `json:"go"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Kernel    string `json:"kernel"`
	CPU       string `json:"cpu"`
	Cores     int    `json:"cores"`
	MemoryMiB int64  `json:"memory_mib"`
	// SIMD is the set of vector instructions of psbench's own kernels: portable, avx2 or avx512.
	SIMD string `json:"simd"`
	// BLAS lists the matrix libraries of the run's processes, each once.
	BLAS []BLAS `json:"blas"`
	// GPUs is empty if nvidia-smi is missing or fails.
	GPUs []GPU `json:"gpus"`
	// GPUTopology is the output of "nvidia-smi topo -m".
	GPUTopology string `json:"gpu_topology,omitempty"`
	// CUDA is the CUDA driver's report on its devices, in a run with CUDA ranks.
	CUDA *devices.List `json:"cuda,omitempty"`
	machine.Facts
}

// BLAS is the matrix library that the parts of a process report.
type BLAS struct {
	Engine  string `json:"engine"`            // e.g. openblas, native
	Library string `json:"library,omitempty"` // the file that was loaded
	Core    string `json:"core"`              // the kernels that the library chose
	Threads string `json:"threads"`
}

// String formats the library for a comparison.
func (b BLAS) String() string {
	text := b.Engine
	if b.Library != "" {
		text += " of " + b.Library
	}
	return fmt.Sprintf("%s for %s with %s threads", text, cmp.Or(b.Core, "unknown cores"), cmp.Or(b.Threads, "unknown"))
}

// Capture describes this machine and this build. Values that the system does not report are "unknown" or 0.
func Capture() Environment {
	return Environment{
		Psbench:   Version(),
		Commit:    Commit(),
		Go:        runtime.Version(),
		OS:        runtime.GOOS,
		Arch:      runtime.GOARCH,
		Kernel:    kernel(),
		CPU:       orUnknown(procfs.Field(procfs.Text(procfs.Here(), "proc/cpuinfo"), "model name")),
		Cores:     runtime.NumCPU(),
		MemoryMiB: machine.MemoryMiB(),
		SIMD:      simdLevel(),
		BLAS:      []BLAS{},
		GPUs:      []GPU{},
		Facts:     machine.Read(os.Environ()),
	}
}

// CaptureGPUs adds the GPUs of this machine and how they are connected. It runs another program, so call it while
// nothing is measured.
func (e *Environment) CaptureGPUs() { e.GPUs, e.GPUTopology = captureGPUs(nvidiaTimeout) }

// CaptureCopy adds the speed of copying memory. It takes about 50 ms, during which no other measurement may run.
func (e *Environment) CaptureCopy() { e.Copy = machine.MeasureCopy() }

// simdLevel is the level of every process, since all have the same environment.
func simdLevel() string {
	level, _ := simd.Chosen() // an invalid value was refused before
	return level.String()
}

// MarshalJSON writes e in the format of docs/result.md, where lists are never null.
func (e Environment) MarshalJSON() ([]byte, error) {
	type plain Environment
	e.BLAS, e.GPUs = orEmpty(e.BLAS), orEmpty(e.GPUs)
	return json.Marshal(plain(e))
}

// NoteBLAS adds the BLAS library that the facts of a process report, if it is new.
func (e *Environment) NoteBLAS(facts map[string]string) {
	b := BLAS{Engine: facts["blas"], Library: facts["blas_library"], Core: facts["blas_core"],
		Threads: facts["blas_threads"]}
	if b.Engine != "" && !slices.Contains(e.BLAS, b) {
		e.BLAS = append(e.BLAS, b)
	}
}

func kernel() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "unknown"
	}
	return orUnknown(unix.ByteSliceToString(name.Release[:]))
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
