package placement

import (
	"os"

	"github.com/psbench/psbench/core/host/machine"
)

// Here describes this host. If name is "", the description has the host's own name. gpus is the number of devices that
// the CUDA driver reports. CUDA_VISIBLE_DEVICES may hide more devices.
func Here(name string, gpus int) Host {
	if name == "" {
		var err error
		if name, err = os.Hostname(); err != nil {
			name = "this host"
		}
	}
	return Host{Name: name, Nodes: machine.Nodes(), MemoryMiB: machine.MemoryMiB(), GPUs: gpus}
}
