package run

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/cluster"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/record"
)

// checkSites reports that processes cannot hand over to each other, from where they run,
// what they are to hand over.
func (r *run) checkSites() error {
	for _, t := range r.processes.trainers {
		if err := cluster.RequireHost("the batches of data", r.processes.data, t); err != nil {
			return err
		}
		for _, kind := range registry.Isolable {
			if err := cluster.RequireHost("a trainer's "+string(kind), t, t.holder(kind)); err != nil {
				return err
			}
		}
	}
	var linked []*process
	for _, p := range r.processes.all {
		if p.isPart() {
			if err := cluster.RequireHost("a part and the process that calls it", p.host, p); err != nil {
				return err
			}
		}
		if p.kind != sdk.KindData { // which has no links
			linked = append(linked, p)
		}
	}
	return cluster.CheckLinks(r.e.Fabric, linked)
}

// reserve compares what the processes are about to allocate with the memory of their
// host: each alone would find that there is room for it.
func (r *run) reserve() error {
	trainers, servers := cluster.AtCore(r.processes.trainers), cluster.AtCore(r.processes.servers)
	if err := r.e.Fabric.ReserveStores(cluster.Names(trainers), r.result.Buckets); err != nil {
		return err
	}
	if r.lookup == nil {
		return nil
	}
	return comm.ReserveTables(cluster.Names(servers), r.tablesOf(servers), *r.lookup, len(trainers))
}

// tablesOf are the tables of some servers.
func (r *run) tablesOf(servers []*process) []comm.TableSpec {
	var tables []comm.TableSpec
	for _, s := range servers {
		tables = append(tables, r.result.Tables[s.position])
	}
	return tables
}

// onCoreClock puts a piece of what a process recorded on the core's clock.
func onCoreClock(site cluster.Site, piece record.Piece) {
	switch p := piece.(type) {
	case *record.Work:
		p.StartNS, p.EndNS = site.OnCoreClock(p.StartNS), site.OnCoreClock(p.EndNS)
	case *record.Series:
		p.Measurements = packed.Shifted(p.Measurements, -int64(site.Clock))
	}
}
