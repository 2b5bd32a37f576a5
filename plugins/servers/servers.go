// Package servers holds the built-in parameter servers, one file each.
package servers

import "github.com/psbench/psbench/sdk"

// Parts lists the servers of this package.
func Parts() []sdk.Part {
	return []sdk.Part{
		sdk.NewServer("average", noSettings{}, newAverage),
		sdk.NewServer("average_batch", noSettings{}, newAverageBatch),
		sdk.NewServer("batch_update", DefaultBatchUpdate, NewBatchUpdate),
		sdk.NewTableServer("embedding", DefaultEmbedding, NewEmbedding),
	}
}

type noSettings struct{}

// averageComputation is the series in which average and average_batch time their averaging;
// keys are {batch},{bucket}.
func averageComputation(env sdk.ServerEnv) *sdk.Series {
	return env.Recorder.Series("method_metric", "average computation")
}
