package sdk_test

import (
	"fmt"

	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
)

// average is a server that answers with the mean of all trainers' gradients.
type average struct{ trainers int }

func newAverage(_ struct{}, env sdk.ServerEnv) (sdk.ElementwiseServer, error) {
	return average{env.Trainers}, nil
}

// Combine implements sdk.ElementwiseServer. Combine adds gradients.
func (a average) Combine(sum []float32, others [][]float32) {
	for _, other := range others {
		vec.Add(sum, other)
	}
}

// Finish implements sdk.ElementwiseServer. Finish divides the sum by the number of trainers.
func (a average) Finish(sum []float32) { vec.Scale(1/float32(a.trainers), sum) }

// averagePart is the part that the plugin's main function passes to plugin.Serve. averagePart
// declares the server's answer, so that psbench can check it.
var averagePart = sdk.Answering(sdk.AnswersMean,
	sdk.NewElementwiseServer("mean", sdk.OnArrival, struct{}{}, newAverage))

// This server averages gradients. In a run, psbench builds the server with the run's settings and
// calls the server as gradients arrive. Here, the example does both.
func ExampleElementwiseServer() {
	built, err := averagePart.Build([]byte("{}"), sdk.ServerEnv{Trainers: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := built.(sdk.ElementwiseServer)
	sum := []float32{1, 2}
	server.Combine(sum, [][]float32{{2, 4}})
	server.Combine(sum, [][]float32{{3, 6}})
	server.Finish(sum)
	fmt.Println(sum)
	// Output: [2 4]
}
