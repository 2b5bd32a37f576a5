package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/sdk"
)

// checkSites returns an error if processes cannot exchange data between their sites.
func (r *run) checkSites() error {
	origin := r.e.Origin(config.Transport)
	for _, t := range r.processes.trainers {
		// The batches of a trainer also use the transport.
		if err := cluster.CheckReach(r.e.Fabric, origin, r.processes.data, t); err != nil {
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
		if p.kind != sdk.KindData { // data has no links
			linked = append(linked, p)
		}
	}
	if err := cluster.CheckLinks(r.e.Fabric, origin, linked); err != nil {
		return err
	}
	return r.checkTogether()
}

// checkTogether returns an error if trainers that should push as one cannot do so.
func (r *run) checkTogether() error {
	if !r.e.Aggregate {
		return nil
	}
	if !r.e.Links.Server {
		return fmt.Errorf("aggregate is host but hook %s pushes to no server: leave it out",
			r.e.Parts[sdk.KindHook].Key)
	}
	pushers, some := slices.Clone(r.processes.servers), false
	for _, s := range r.processes.servers {
		for _, list := range r.together(s) {
			pushers, some = append(pushers, list...), some || len(list) > 1
		}
	}
	if warning := cluster.NothingTogether; !some && !slices.Contains(r.result.Warnings, warning) {
		r.result.Warnings = append(r.result.Warnings, warning)
	}
	return cluster.CheckTogether(pushers)
}

// reserve compares the memory of each host with the total that its processes will allocate. Each process alone would
// find enough free memory.
func (r *run) reserve() error {
	trainers, servers := cluster.AtCore(r.processes.trainers), cluster.AtCore(r.processes.servers)
	stored := traffic.Stored(r.result.Buckets, r.traffic())
	if err := r.e.Fabric.ReserveStores(cluster.Names(trainers), stored); err != nil {
		return err
	}
	if err := traffic.Reserve(cluster.Names(trainers), r.traffic()); err != nil {
		return err
	}
	if r.lookup == nil {
		return nil
	}
	return comm.ReserveTables(cluster.Names(servers), r.tablesOf(servers), *r.lookup, len(trainers))
}

// tablesOf returns the tables of some servers.
func (r *run) tablesOf(servers []*process) []comm.TableSpec {
	var tables []comm.TableSpec
	for _, s := range servers {
		tables = append(tables, r.result.Tables[s.position])
	}
	return tables
}

// hostClock returns the host of a process and the estimate of its clock. ok is false if all processes run on the core's
// host.
func (r *run) hostClock(p *process) (c result.HostClock, ok bool) {
	if len(cluster.AtCore(r.processes.all)) == len(r.processes.all) {
		return c, false
	}
	site := p.Site()
	if c.Host = site.Host; c.Host == cluster.CoreHost && r.o.Layout != nil {
		c.Host = r.o.Layout.Hosts[0].Name
	}
	c.Estimate = site.Clock.Estimate()
	return c, true
}

// measureLinks records the speed of the links between hosts.
func (r *run) measureLinks(ctx context.Context) {
	links, warning := r.cluster.MeasureLinks(ctx)
	if r.result.HostLinks = links; warning != "" {
		r.result.Warnings = append(r.result.Warnings, warning)
	}
}
