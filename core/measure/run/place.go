package run

import (
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/sdk"
)

// Place returns where the processes of e run on these hosts. The core's host comes first if it is among them;
// without any hosts all run on this one. Place starts nothing.
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

// placedAs maps the kinds of ranks to those of the placement.
var placedAs = map[sdk.Kind]placement.Kind{
	sdk.KindTrainer: placement.Trainer, sdk.KindServer: placement.Server, sdk.KindData: placement.Data,
}

// here describes the core's host. Its devices are known only if a rank needs one.
func here(e *config.Experiment) placement.Host {
	gpus := 0
	if e.CUDA != nil {
		gpus = len(e.CUDA.Devices.Devices)
	}
	return placement.Here("", gpus)
}
