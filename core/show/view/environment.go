package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
)

// environments holds the distinct environments of the runs, each with the first run that had it.
type environments struct {
	list  []Environment
	first []*model.Run
}

// place returns the index of a run's environment. It ignores values that fluctuate, such as the load.
func (e *environments) place(r *model.Run) int {
	for i, first := range e.first {
		if len(lasting(first.Differences(r))) == 0 {
			e.list[i].Runs++
			return i
		}
	}
	environment := Environment{Facts: environmentFacts(r.Environment), Runs: 1}
	if len(e.first) > 0 {
		for _, d := range lasting(e.first[0].Differences(r)) {
			environment.Differences = append(environment.Differences, fmt.Sprintf("%s: %s → %s", d.Name, d.Old, d.New))
		}
	}
	e.first, e.list = append(e.first, r), append(e.list, environment)
	return len(e.list) - 1
}

func lasting(differences []result.Difference) []result.Difference {
	return slices.DeleteFunc(differences, func(d result.Difference) bool { return model.Passing(d.Name) })
}

// environmentFacts returns the known facts about the machine and the build.
func environmentFacts(e result.Environment) []Fact {
	var facts []Fact
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{name, value})
		}
	}
	add("psbench", e.Psbench)
	add("commit", e.Commit)
	add("Go", e.Go)
	add("system", strings.Trim(e.OS+"/"+e.Arch, "/"))
	add("kernel", e.Kernel)
	add("CPU", e.CPU)
	if e.Cores > 0 {
		add("cores", fmt.Sprint(e.Cores))
	}
	if e.MemoryMiB > 0 {
		add("memory", fmt.Sprintf("%d MiB", e.MemoryMiB))
	}
	add("SIMD", e.SIMD)
	for _, b := range e.BLAS {
		add("BLAS", joined(b.Engine, b.Core, b.Library, cmp.Or(b.Threads, "?")+" threads"))
	}
	for _, g := range e.GPUs {
		add("GPU", joined(g.Name, "driver "+g.Driver, fmt.Sprintf("%d MiB", g.MemoryMiB)))
	}
	if l := e.CUDA; l != nil {
		add("CUDA driver", devices.Version(l.Driver))
		for _, d := range l.Devices {
			add("CUDA device",
				joined(d.ID(), d.Name, fmt.Sprintf("%d MiB", d.MemoryMiB), "compute capability "+d.Capability))
		}
		add("MPS", l.MPS.Known)
	}
	add("GPU topology", e.GPUTopology)
	add("affinity", e.Affinity)
	add("governor", e.Governor)
	for _, c := range e.Caches {
		add("cache", fmt.Sprint(c))
	}
	if l := e.Limits; l != nil && l.CPUs > 0 {
		add("limit of CPUs", fmt.Sprintf("%g CPUs", l.CPUs))
	}
	if l := e.Limits; l != nil && l.MemoryBytes > 0 {
		add("limit of memory", fmt.Sprintf("%d MiB", l.MemoryBytes>>20))
	}
	if e.Copy != nil {
		add("bandwidth of memory", fmt.Sprintf("%.1f GB/s", e.Copy.GBps))
	}
	if e.Load != nil {
		add("load before", fmt.Sprintf("%.2f", *e.Load))
	}
	if e.Clock != nil {
		add("clock", e.Clock.Source)
	}
	for _, f := range factsOf(e.Variables) {
		add("variable "+f.Name, f.Value)
	}
	return facts
}

func joined(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")
}
