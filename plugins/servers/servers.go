// Package servers holds the built-in parameter servers, one file each.
package servers

import "github.com/psbench/psbench/sdk"

// Parts lists the servers of this package.
func Parts() []sdk.Part {
	return []sdk.Part{
		averaging("average", sdk.OnArrival),
		averaging("average_batch", sdk.OnLastArrival),
		sdk.WithQuorum("batch_update_size", sdk.NewParameterServer("batch_update", DefaultBatchUpdate, NewBatchUpdate)),
		sdk.NewTableServer("embedding", DefaultEmbedding, NewEmbedding),
	}
}

// averaging gives both servers the same metric, so that users can compare them.
func averaging(key string, timing sdk.Timing) sdk.Part {
	part := sdk.NewElementwiseServer(key, timing, noSettings{}, newAverage)
	part.Computes = "average"
	return sdk.Answering(sdk.AnswersMean, sdk.Adding(part))
}

type noSettings struct{}
