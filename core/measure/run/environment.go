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

// threads is how many threads the compute of a process gets: the share of a trainer of its
// host, unless the user's OPENBLAS_NUM_THREADS says otherwise.
func (r *run) threads(p *process) int {
	if n, err := strconv.Atoi(os.Getenv("OPENBLAS_NUM_THREADS")); err == nil && n > 0 {
		return n
	}
	return cluster.Share(p, r.processes.trainers)
}

// environment is what a process gets beside the core's environment. What the user has set
// stays.
func (r *run) environment(p *process) []string {
	var env []string
	set := func(name, value string) {
		if _, ok := os.LookupEnv(name); !ok {
			env = append(env, name+"="+value)
		}
	}
	if p.Site().Host == cluster.CoreHost { // those of other hosts their agents know
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
		// One more for Go: a reduction that nobody waits for yet goes on while the
		// library computes, and would else begin only once the scheduler notices that
		// its thread is out in the library. With tables the buckets are small, and
		// what waits for them would only be in the way.
		goThreads := compute
		if r.e.Service == sdk.ServiceGradients {
			goThreads++
		}
		set("GOMAXPROCS", strconv.Itoa(goThreads))
		set("OPENBLAS_NUM_THREADS", threads)
		if p.Protocol {
			set("OMP_NUM_THREADS", threads) // those of PyTorch
		}
	case r.e.Service == sdk.ServiceTables:
		// It looks rows up with one thread, and there may be as many servers as trainers.
		set("GOMAXPROCS", strconv.Itoa(cluster.Share(p, r.processes.servers)))
	case r.e.Service == sdk.ServiceParameters:
		set("OPENBLAS_NUM_THREADS", threads)
	}
	return env
}

// startTime is the wall-clock time of a stamp of comm.Now.
func startTime(ns int64) time.Time {
	return time.Now().Add(-time.Duration(comm.Now() - ns))
}
