package run

import (
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// trainerThreads is how many threads the compute of one trainer gets: its share
// of the cores, unless the user's OPENBLAS_NUM_THREADS says otherwise.
func trainerThreads(trainers int) int {
	if n, err := strconv.Atoi(os.Getenv("OPENBLAS_NUM_THREADS")); err == nil && n > 0 {
		return n
	}
	return max(1, runtime.NumCPU()/max(1, trainers))
}

// environment is what a process of a kind gets beside the core's environment.
// What the user has set stays.
func environment(kind sdk.Kind, trainers int) []string {
	var env []string
	set := func(name, value string) {
		if _, ok := os.LookupEnv(name); !ok {
			env = append(env, name+"="+value)
		}
	}
	// OpenBLAS chooses its kernels when it is loaded, and older ones do not know
	// newer CPUs: they fall back to kernels of half the speed where AVX-512
	// ones would run.
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL {
		set("OPENBLAS_CORETYPE", "SkylakeX")
	}
	if kind != sdk.KindServer && kind != sdk.KindData {
		threads := strconv.Itoa(trainerThreads(trainers))
		set("GOMAXPROCS", threads)
		set("OPENBLAS_NUM_THREADS", threads)
	}
	return env
}

// startTime is the wall-clock time of a stamp of comm.Now.
func startTime(ns int64) time.Time {
	return time.Now().Add(-time.Duration(comm.Now() - ns))
}
