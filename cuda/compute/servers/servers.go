//go:build nvidia

// Package servers has psbench's parameter servers on a CUDA device, under the same keys: average and
// average_batch, whose means are taken there, and embedding, whose table lies there. The server
// batch_update is that of plugins/servers, which averages and steps by the engine.
package servers

import (
	"github.com/psbench/psbench/plugins/servers"
	"github.com/psbench/psbench/sdk"
)

// Parts lists the servers.
func Parts() []sdk.Part {
	return []sdk.Part{
		sdk.NewServer("average", struct{}{}, newAverage(sdk.OnArrival)),
		sdk.NewServer("average_batch", struct{}{}, newAverage(sdk.OnLastArrival)),
		sdk.NewTableServer("embedding", servers.DefaultEmbedding, NewEmbedding),
	}
}
