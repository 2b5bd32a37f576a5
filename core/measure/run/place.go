package run

import (
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/sdk"
)

// Place returns where the processes of e would run on the given hosts. The core's host comes first if it is one of
// them. Without any hosts, all processes run on the core's host. Place starts no processes.
func Place(e *config.Experiment, hosts []placement.Host) (*placement.Layout, error) {
	return place(e, layOut(e), hosts)
}

func place(e *config.Experiment, ps processes, hosts []placement.Host) (*placement.Layout, error) {
	if len(hosts) == 0 {
		hosts = []placement.Host{here(e)}
	}
	var all []placement.Process
	for _, p := range ps.all {
		q := placement.Process{Name: p.Name, Kind: placedAs[p.kind]}
		if p.host != nil {
			q.Kind, q.Beside = placedAs[p.host.kind], p.host.Name
		} else {
			q.CUDA = e.World.CUDA(p.rank)
		}
		all = append(all, q)
	}
	return placement.Lay(hosts, all, e.Place, e.Affinity)
}

// placedAs maps the kinds of ranks to the kinds of package placement.
var placedAs = map[sdk.Kind]placement.Kind{
	sdk.KindTrainer: placement.Trainer, sdk.KindServer: placement.Server, sdk.KindData: placement.Data,
}

// here describes the core's host. It includes the devices only if a rank needs one.
func here(e *config.Experiment) placement.Host {
	gpus := 0
	if e.CUDA != nil {
		gpus = len(e.CUDA.Devices.Devices)
	}
	return placement.Here("", gpus)
}
