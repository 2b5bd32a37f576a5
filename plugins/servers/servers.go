// Package servers holds the built-in parameter servers, one file each.
package servers

import "github.com/psbench/psbench/sdk"

// Parts lists the servers of this package.
func Parts() []sdk.Part {
	return []sdk.Part{
		sdk.NewElementwiseServer("average", sdk.OnArrival, noSettings{}, newAverage),
		sdk.NewElementwiseServer("average_batch", sdk.OnLastArrival, noSettings{}, newAverage),
		sdk.NewParameterServer("batch_update", DefaultBatchUpdate, NewBatchUpdate),
		sdk.NewTableServer("embedding", DefaultEmbedding, NewEmbedding),
	}
}

type noSettings struct{}
