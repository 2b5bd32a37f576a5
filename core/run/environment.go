package run

import (
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/config"
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

// serverThreads is the same of a server of tables: it looks rows up with one thread, and
// there may be as many servers as trainers.
func serverThreads(servers int) int { return max(1, runtime.NumCPU()/max(1, servers)) }

// environment is what a process of a kind gets beside the core's environment.
// What the user has set stays.
func environment(kind sdk.Kind, e *config.Experiment) []string {
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
	compute := trainerThreads(e.World.Trainers)
	threads := strconv.Itoa(compute)
	switch {
	case kind == sdk.KindData:
	case kind != sdk.KindServer:
		// One more for Go: a reduction that nobody waits for yet goes on while the
		// library computes, and would else begin only once the scheduler notices that
		// its thread is out in the library. With tables the buckets are small, and
		// what waits for them would only be in the way.
		goThreads := compute
		if e.Service == sdk.ServiceGradients {
			goThreads++
		}
		set("GOMAXPROCS", strconv.Itoa(goThreads))
		set("OPENBLAS_NUM_THREADS", threads)
	case e.Service == sdk.ServiceTables:
		set("GOMAXPROCS", strconv.Itoa(serverThreads(e.World.Servers)))
	case e.Service == sdk.ServiceParameters:
		set("OPENBLAS_NUM_THREADS", threads)
	}
	return env
}

// startTime is the wall-clock time of a stamp of comm.Now.
func startTime(ns int64) time.Time {
	return time.Now().Add(-time.Duration(comm.Now() - ns))
}
