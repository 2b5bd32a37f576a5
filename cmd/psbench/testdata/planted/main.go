// Command planted is a plugin with a hook whose runs differ as its settings say. It averages gradients over the
// trainers, and before that it sleeps on trainer 0, which stands for the work of an iteration.
package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

func main() { plugin.Serve(sdk.NewHook("planted", usual, newHook, sdk.LinkGroup)) }

type settings struct {
	Name   string  `json:"name" doc:"sets cells apart that are equal otherwise"`
	Sleep  float64 `json:"sleep" doc:"milliseconds that each batch takes on trainer 0"`
	Slower float64 `json:"slower" doc:"share by which each batch takes longer"`
	Drift  float64 `json:"drift" doc:"share by which each round takes longer than the one before"`
	Noise  float64 `json:"noise" doc:"standard deviation of the logarithm of a run's sleep"`
	Second float64 `json:"second" doc:"share by which every second round takes longer"`
	Crash  uint64  `json:"crash" doc:"runs of every three that crash"`
	Scale  float32 `json:"scale" doc:"factor of gradients"`
	Blur   float64 `json:"blur" doc:"standard deviation of a factor that each batch draws"`
}

var usual = settings{Sleep: 60, Scale: 1}

type hook struct {
	settings
	env   sdk.HookEnv
	sleep time.Duration
	rng   *rand.Rand
}

// newHook draws the run's noise by chance, not from the seed, which is the round: the runs of a round are independent.
func newHook(s settings, env sdk.HookEnv) (sdk.Hook, error) {
	factor := (1 + s.Slower) * (1 + s.Drift*float64(env.Seed)) * math.Exp(s.Noise*rand.NormFloat64()) // #nosec G404 -- it plants noise
	if env.Seed%2 == 1 {
		factor *= 1 + s.Second
	}
	return &hook{
		settings: s, env: env,
		sleep: time.Duration(s.Sleep * factor * float64(time.Millisecond)),
		rng:   rand.New(rand.NewPCG(env.Seed, uint64(env.Rank))), // #nosec G404 G115
	}, nil
}

func (h *hook) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	if h.env.Rank == 0 && b.Index == 0 {
		time.Sleep(h.sleep)
		if h.env.Seed%3 < h.Crash && state.Batch() == 2 {
			fmt.Fprintf(os.Stderr, "planted: process %d crashes\n", os.Getpid())
			os.Exit(3)
		}
	}
	factor := h.Scale * float32(1+h.Blur*h.rng.NormFloat64())
	for i := range b.Gradient.Values { // also where the factor is 1, so that all cells take the same time
		b.Gradient.Values[i] *= factor
	}
	return h.env.Group.Average(state.Batch(), b)
}

func (*hook) Reset() {}
