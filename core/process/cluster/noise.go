package cluster

import (
	"os"

	"github.com/psbench/psbench/core/host/noise"
)

// Here are the processes of the run that the core's host has at this moment, the core and
// its supervisor among them.
func (c *Cluster) Here() []noise.Process {
	processes := []noise.Process{{Name: "core", PID: os.Getpid(), Alone: true}}
	if h, ok := c.starter.(here); ok {
		processes = append(processes, noise.Process{Name: "supervisor", PID: h.launcher.Supervisor()})
	}
	for _, m := range AtCore(c.members) {
		if m.Process != nil && m.PID() > 0 && m.PID() != os.Getpid() {
			processes = append(processes, noise.Process{Name: m.Name, PID: m.PID()})
		}
	}
	return processes
}
