// Package toys provides the parts for testing other parts: the smallest working part of each kind, and a model with
// buckets of all sizes.
package toys

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// The parts. Matrix and Squares really learn, through the other parts.
var (
	Mean = sdk.NewElementwiseServer("plugintest", sdk.OnArrival, struct{}{},
		func(_ struct{}, env sdk.ServerEnv) (sdk.ElementwiseServer, error) {
			return mean(env.Trainers), nil
		})
	Parameters = sdk.NewParameterServer("plugintest_parameters", struct{}{},
		func(_ struct{}, env sdk.ServerEnv) (sdk.Server, error) {
			return newParameters(env)
		})
	Table = sdk.NewTableServer("plugintest_table", struct{}{},
		func(_ struct{}, env sdk.TableEnv) (sdk.TableServer, error) {
			return &table{position: env.Position}, nil
		})
	Push = sdk.NewHook("plugintest_push", struct{}{}, func(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
		return push{env.Server}, nil
	}, sdk.LinkServer)
	Group = sdk.NewHook("plugintest_group", struct{}{}, func(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
		return groupMean{env.Group}, nil
	}, sdk.LinkGroup)
	// Linked is Group with all links, for trainers that call the links directly.
	Linked = sdk.NewHook("plugintest_linked", struct{}{}, func(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
		return groupMean{env.Group}, nil
	}, sdk.LinkServer, sdk.LinkGroup, sdk.LinkDefault)
	DenseSizes = sdk.NewModel("plugintest_sizes", struct{}{}, func(struct{}, sdk.ModelEnv) (sdk.Model, error) {
		return &Sizes{DenseOnly: true}, nil
	})
	Matrix = sdk.NewModel("plugintest_matrix", struct{}{}, func(struct{}, sdk.ModelEnv) (sdk.Model, error) {
		return &matrix{}, nil
	})
	Squares = sdk.NewCriterion("plugintest", struct{}{}, func(struct{}, sdk.CriterionEnv) (sdk.Criterion, error) {
		return &squaredDistance{}, nil
	})

	All = []sdk.Part{Mean, Parameters, Table, Push, Group, Linked, DenseSizes, Matrix, Squares}
)

// push sends buckets to the server.
type push struct{ to comm.PushPuller }

func (p push) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return p.to.PushPull(state.Batch(), b)
}

func (push) Reset() {}

// groupMean averages buckets over the group.
type groupMean struct{ of comm.Group }

func (h groupMean) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return h.of.Average(state.Batch(), b)
}

func (groupMean) Reset() {}

// Number returns a value between -1 and 1 that depends on n, a multiple of 1/64.
func Number(n int) float32 {
	x := uint32(n)*2654435761 + 12345 // #nosec G115 -- any bits do
	x ^= x >> 15
	x *= 2246822519
	x ^= x >> 13
	return float32(int(x%127)-63) / 64
}
