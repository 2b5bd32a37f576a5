//go:build nvidia

// Package servers provides psbench's parameter servers on a CUDA device, under the same keys. average and
// average_batch compute their means on the device, and embedding keeps its table there. The server batch_update is
// the one of plugins/servers; the engine averages and steps for it.
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
