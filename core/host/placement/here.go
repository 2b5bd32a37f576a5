package placement

import (
	"os"

	"github.com/psbench/psbench/core/host/machine"
)

// Here is this host, under a name, or if that is "" under its own. GPUs is how many devices its CUDA driver shows,
// from which CUDA_VISIBLE_DEVICES may hide some.
func Here(name string, gpus int) Host {
	if name == "" {
		var err error
		if name, err = os.Hostname(); err != nil {
			name = "this host"
		}
	}
	return Host{Name: name, Nodes: machine.Nodes(), MemoryMiB: machine.MemoryMiB(), GPUs: gpus}
}
