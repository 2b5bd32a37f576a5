package config

import (
	"fmt"

	"github.com/psbench/psbench/sdk"
)

// Replicas are the sets of trainers whose parameters must be equal, bit by bit, at the end of a pass: those that
// exchange gradients. Trainers of different servers may share a group as well, but of which buckets the hook alone
// knows; so each server has a set of its own. differ says why the trainers' parameters may differ; then no set has two
// trainers.
func (e *Experiment) Replicas() (sets [][]int, differ string) {
	links := e.Links
	if links.Server {
		links.Group, links.Default = false, false
	}
	differ = e.mayDiffer()
	if differ != "" {
		links.Server, links.Group, links.Default = false, false, false
	}
	return e.World.Sets(links), differ
}

// mayDiffer says by what declaration trainers need not end with equal parameters; "" if they must.
func (e *Experiment) mayDiffer() string {
	hook, server := e.Parts[sdk.KindHook].Key, e.Parts[sdk.KindServer]
	if !e.Links.Server && !e.Links.Group && !e.Links.Default {
		return fmt.Sprintf("hook %s uses no link", hook)
	}
	if e.Links.Server && server.Asynchronous {
		return fmt.Sprintf("server %s answers before all of its trainers have pushed", server.Key)
	}
	for _, kind := range []sdk.Kind{sdk.KindHook, sdk.KindServer, sdk.KindTrainer, sdk.KindModel} {
		if part := e.Parts[kind]; part.RanksDiffer && (kind != sdk.KindServer || e.Links.Server) {
			return fmt.Sprintf("%s %s is declared so", kind, part.Key)
		}
	}
	return ""
}

// ArrivalOrder says why losses and parameters depend on the order in which gradients arrive, so that runs of e are
// equal up to rounding alone, or not even that; "" where nothing that psbench knows of does. pushers is how many
// trainers, or hosts of trainers that push as one, push to a server on a CPU at most.
func (e *Experiment) ArrivalOrder(pushers int) string {
	server := e.Parts[sdk.KindServer]
	switch {
	case e.Service == sdk.ServiceTables && len(e.World.TrainerRanks()) > 1:
		return fmt.Sprintf("server %s applies updates of its tables as they arrive", server.Key)
	case !e.Links.Server:
		return ""
	case server.Asynchronous:
		return fmt.Sprintf("server %s answers before all of its trainers have pushed", server.Key)
	case server.OnArrival && pushers > 2: // the sum of two has the same bits in either order
		return fmt.Sprintf("server %s combines gradients as they arrive", server.Key)
	}
	return ""
}
