// Command forgetful is a plugin with a parameter server that forgets to divide:
// it answers with the sum. psbench verify must notice.
package main

import (
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

type server struct{}

func (server) Combine(sum []float32, others [][]float32) {
	for _, other := range others {
		for i, v := range other {
			sum[i] += v
		}
	}
}

func (server) Finish([]float32) {}

func main() {
	plugin.Serve(sdk.NewElementwiseServer("forgetful", sdk.OnLastArrival, struct{}{}, func(struct{}, sdk.ServerEnv) (sdk.ElementwiseServer, error) {
		return server{}, nil
	}))
}
