package run

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/sdk"
)

// threads returns the number of compute threads of a process. This is a trainer's share of the cores of its host,
// unless the user sets OPENBLAS_NUM_THREADS.
func (r *run) threads(p *process) int {
	if n, err := strconv.Atoi(os.Getenv("OPENBLAS_NUM_THREADS")); err == nil && n > 0 {
		return n
	}
	return cluster.Share(p, r.processes.trainers)
}

// environment returns the variables that a process gets in addition to the core's environment. It leaves out variables
// that the user has set.
func (r *run) environment(p *process) []string {
	var env []string
	set := func(name, value string) {
		if _, ok := os.LookupEnv(name); !ok {
			env = append(env, name+"="+value)
		}
	}
	if p.Site().Host == cluster.CoreHost { // agents know the environment of other hosts
		env = append(env, machine.Kernels()...)
	}
	if p.device != nil {
		env = append(env, fmt.Sprintf("%s=%d", host.CUDADeviceVariable, p.device.Ordinal))
	}
	compute := r.threads(p)
	threads := strconv.Itoa(compute)
	switch {
	case p.isPart() && p.kind == sdk.KindServer:
		share := strconv.Itoa(cluster.Share(p, r.processes.servers))
		set("OPENBLAS_NUM_THREADS", share)
		set("OMP_NUM_THREADS", share)
	case p.kind == sdk.KindData:
	case p.kind != sdk.KindServer:
		// Go gets one more thread than the library. A reduction that no trainer waits for can then run while the
		// library computes. Otherwise it would start only after the scheduler notices that its thread is in the
		// library. With tables the buckets are small, and an extra thread would only compete with waiting threads.
		goThreads := compute
		if r.e.Service == sdk.ServiceGradients {
			goThreads++
		}
		set("GOMAXPROCS", strconv.Itoa(goThreads))
		set("OPENBLAS_NUM_THREADS", threads)
		if p.Protocol {
			set("OMP_NUM_THREADS", threads) // for PyTorch
		}
	case r.e.Service == sdk.ServiceTables:
		// A server uses one thread to look up rows, and there may be as many servers as trainers.
		set("GOMAXPROCS", strconv.Itoa(cluster.Share(p, r.processes.servers)))
	case r.e.Service == sdk.ServiceParameters:
		set("OPENBLAS_NUM_THREADS", threads)
	}
	return env
}

// startTime converts a stamp of comm.Now, in ns, to wall-clock time.
func startTime(ns int64) time.Time {
	return time.Now().Add(-time.Duration(comm.Now() - ns))
}
