package placement

import (
	"os"

	"github.com/psbench/psbench/core/host/machine"
)

// Here describes this host under a name, or under its own if that is "". gpus is the number of devices that the
// CUDA driver shows; CUDA_VISIBLE_DEVICES may have hidden more.
func Here(name string, gpus int) Host {
	if name == "" {
		var err error
		if name, err = os.Hostname(); err != nil {
			name = "this host"
		}
	}
	return Host{Name: name, Nodes: machine.Nodes(), MemoryMiB: machine.MemoryMiB(), GPUs: gpus}
}
