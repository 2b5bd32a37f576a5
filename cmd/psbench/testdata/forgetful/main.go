// Command forgetful is a plugin with a parameter server that forgets to divide:
// it answers with the sum. psbench verify must notice. Its other parts answer with what is no mean
// either, which psbench comm must not take for a wrong one: some say what it is, some do not.
package main

import (
	"slices"

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

type median struct{ trainers int }

func (m median) Combine(sum []float32, others [][]float32) {
	column := make([]float32, 0, m.trainers)
	for i, v := range sum {
		column = append(column[:0], v)
		for _, other := range others {
			column = append(column, other[i])
		}
		slices.Sort(column)
		sum[i] = column[len(column)/2]
	}
}

func (median) Finish([]float32) {}

type none struct{}

func main() {
	plugin.Serve(
		sdk.NewElementwiseServer("forgetful", sdk.OnLastArrival, none{},
			func(none, sdk.ServerEnv) (sdk.ElementwiseServer, error) {
				return server{}, nil
			}),
		sdk.NewElementwiseServer("median", sdk.OnLastArrival, none{},
			func(_ none, env sdk.ServerEnv) (sdk.ElementwiseServer, error) {
				return median{env.Trainers}, nil
			}),
		sdk.Asynchronous(sdk.NewServer("mute", none{}, func(none, sdk.ServerEnv) (sdk.Server, error) {
			return mute{}, nil
		})),
		sdk.Asynchronous(sdk.NewServer("echo", none{}, func(none, sdk.ServerEnv) (sdk.Server, error) {
			return echo{}, nil
		})),
		sdk.NewTrainer("planless", rate{}, func(rate, sdk.TrainerEnv) (sdk.Trainer, error) { return planless{}, nil }),
		sdk.NewModel("narrow", dummy{}, func(dummy, sdk.ModelEnv) (sdk.Model, error) { return narrow{}, nil }),
		sdk.NewHook("halving", lies{}, newHalving, sdk.LinkGroup),
		sdk.NewHook("pushing", none{}, newPushing, sdk.LinkServer),
		sdk.NewHook("quiet", none{}, newQuiet, sdk.LinkGroup),
	)
}
