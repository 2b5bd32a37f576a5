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
	// Commit is the commit from which psbench was built. Commit is the output of "git describe --always --dirty", or
	// the revision that the Go tool recorded, or "unknown".
	Commit    string `json:"commit"`
	Go        string `json:"go"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Kernel    string `json:"kernel"`
	CPU       string `json:"cpu"`
	Cores     int    `json:"cores"`
	MemoryMiB int64  `json:"memory_mib"`
	// SIMD is the set of vector instructions that psbench's own kernels use: portable, avx2 or avx512.
	SIMD string `json:"simd"`
	// BLAS lists the matrix libraries of the run's processes without duplicates.
	BLAS []BLAS `json:"blas"`
	// GPUs is empty if nvidia-smi is missing or fails.
	GPUs []GPU `json:"gpus"`
	// GPUTopology is the output of "nvidia-smi topo -m".
	GPUTopology string `json:"gpu_topology,omitempty"`
	// CUDA is what the CUDA driver reports about its devices. Only runs with CUDA ranks have it.
	CUDA *devices.List `json:"cuda,omitempty"`
	machine.Facts
}

// BLAS describes the matrix library that the parts of a process report.
type BLAS struct {
	Engine  string `json:"engine"`            // such as openblas or native
	Library string `json:"library,omitempty"` // path of the loaded file
	Core    string `json:"core"`              // kernels that the library chose
	Threads string `json:"threads"`
}

// String formats the library for a comparison of runs.
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

// CaptureGPUs adds the GPUs of this machine and their interconnect. CaptureGPUs runs nvidia-smi, so call it only when
// nothing is being measured.
func (e *Environment) CaptureGPUs() { e.GPUs, e.GPUTopology = captureGPUs(nvidiaTimeout) }

// CaptureCopy adds the speed of copying memory. CaptureCopy takes about 50 ms. No measurement may run at the same time.
func (e *Environment) CaptureCopy() { e.Copy = machine.MeasureCopy() }

// simdLevel returns the level of vector instructions. The level is the same in every process, because all processes
// have the same environment.
func simdLevel() string {
	level, _ := simd.Chosen() // an invalid value was refused earlier
	return level.String()
}

// MarshalJSON writes e in the format of docs/result.md, in which lists are never null.
func (e Environment) MarshalJSON() ([]byte, error) {
	type plain Environment
	e.BLAS, e.GPUs = orEmpty(e.BLAS), orEmpty(e.GPUs)
	return json.Marshal(plain(e))
}

// NoteBLAS adds the BLAS library from the facts of a process, unless it is already listed.
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
