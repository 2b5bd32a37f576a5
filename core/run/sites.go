package run

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/cluster"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// checkSites reports that processes cannot hand over to each other, from where they run,
// what they are to hand over.
func (r *run) checkSites() error {
	for _, t := range r.processes.trainers {
		if err := cluster.RequireHost("the batches of data", r.processes.data, t); err != nil {
			return err
		}
		for _, kind := range sdk.Isolable {
			if err := cluster.RequireHost("a trainer's "+string(kind), t, t.holder(kind)); err != nil {
				return err
			}
		}
	}
	return cluster.CheckLinks(r.e.Fabric, r.processes.all[1:]) // data has no links
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
	spec := comm.LookupSpec{Tables: r.result.Tables, Bags: int(r.lookup.GetBags()), Indices: int(r.lookup.GetIndices())}
	return comm.ReserveTables(cluster.Names(servers), r.tablesOf(servers), spec, len(trainers))
}

// tablesOf are the tables of some servers.
func (r *run) tablesOf(servers []*process) []comm.TableSpec {
	var tables []comm.TableSpec
	for _, s := range servers {
		tables = append(tables, r.result.Tables[s.position])
	}
	return tables
}

// onCoreClock puts what a process says of its work on the core's clock.
func onCoreClock(site cluster.Site, w *proto.Work) *proto.Work {
	if w != nil {
		w.StartNs, w.EndNs = site.OnCoreClock(w.GetStartNs()), site.OnCoreClock(w.GetEndNs())
	}
	return w
}

// replyOnCoreClock puts a piece of what a process recorded on the core's clock.
func replyOnCoreClock(site cluster.Site, reply *proto.CollectReply) {
	onCoreClock(site, reply.GetWork())
	for _, s := range reply.GetSeries() {
		for i, ns := range s.GetStartNs() {
			s.StartNs[i] = site.OnCoreClock(ns)
		}
	}
}
