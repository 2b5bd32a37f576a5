//go:build nvidia

package servers_test

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/plugins/servers"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// constant is a model whose parameters start at the seed.
type constant struct {
	sdk.Model
	engine engine.Engine
	specs  []sdk.ParameterSpec
	values []tensor.Tensor
}

func (c *constant) Parameters() []sdk.ParameterSpec { return c.specs }

func (c *constant) Bind(values []tensor.Tensor, _ []*tensor.Gradient) error {
	c.values = values
	return nil
}

func (c *constant) Initialize(seed uint64) {
	for _, v := range c.values {
		if err := engine.In(c.engine, v.Data, slices.Repeat([]float32{float32(seed)}, len(v.Data))); err != nil {
			panic(err)
		}
	}
}

// Server batch_update computes means on the device. The server's parameters match the host's bit for bit, for any
// trainers in a round and any order of arrival.
func TestUpdates(t *testing.T) {
	d := computetest.Open(t)
	const trainers = 3
	model := []sdk.ParameterSpec{{Name: "weight", Shape: []int{40, 50}}, {Name: "bias", Shape: []int{40}}}
	planned := []tensor.BucketSpec{
		{Index: 0, Elements: 40, Parameters: []tensor.Span{{Parameter: 1, Elements: 40}}},
		{Index: 1, Elements: 2000, Parameters: []tensor.Span{{Parameter: 0, Elements: 2000}}},
	}
	for _, size := range []int{0, 2, 1} {
		answers := map[string][]float32{}
		for _, e := range []engine.Engine{engine.Host, d} {
			settings := servers.BatchUpdateSettings{Settings: optimizer.Defaults(0.1, 0.9), BatchUpdateSize: size}
			recorder := &sdk.Recorder{}
			server, err := servers.NewBatchUpdate(settings, sdk.ServerEnv{
				Name: "server3", Trainers: trainers, Buckets: planned, Recorder: recorder, Seed: 3, Engine: e,
				Model: &constant{engine: e, specs: model},
			})
			must(t, err)
			for range 2 {
				server.Reset()
				for round := range 4 {
					for i := range trainers {
						trainer := (round + i) % trainers
						for _, spec := range planned {
							g := draw(spec, trainer, int64(round))
							must(t, server.Receive(sdk.NewPush(sdk.Push{Batch: int64(round + 1), Bucket: spec.Index,
								Trainer: trainer, Gradient: g},
								func(_ sdk.Push, answer *tensor.Gradient) error {
									answers[e.Name()] = append(answers[e.Name()], answer.Values...)
									return nil
								})))
						}
					}
				}
			}
			must(t, server.(io.Closer).Close())
			const reports = 2 * 4 * trainers
			if counters := recorder.All().Counters; size == 1 && e == d &&
				(len(counters) != 1 || counters[0].Value != 4*2040*(reports+reports)) {
				t.Errorf("of %d reports as many updates have %v on the bus", reports, counters)
			}
		}
		got, want := answers[d.Name()], answers[engine.Host.Name()]
		if rounds := 2 * 4 * trainers * 2040; size == 1 && len(want) != rounds {
			t.Fatalf("%d parameters were answered, want %d", len(want), rounds)
		}
		computetest.Near(t, fmt.Sprintf("parameters of rounds of %d", size), got, want, 0)
	}
}
