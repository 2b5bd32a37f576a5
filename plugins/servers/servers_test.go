package servers

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// averages returns the servers that average, by key.
func averages() map[string]sdk.Part {
	out := map[string]sdk.Part{}
	for _, p := range Parts() {
		if p.Computes == "average" {
			out[p.Key] = p
		}
	}
	return out
}

// The original compares these two servers: average adds each gradient on arrival, average_batch adds all of them
// after the last arrives.
func TestWhenTheWorkIsDone(t *testing.T) {
	got := averages()
	if len(got) != 2 || got["average"].Timing != sdk.OnArrival || got["average_batch"].Timing != sdk.OnLastArrival {
		t.Errorf("average works %v, average_batch %v, of %d servers", got["average"].Timing,
			got["average_batch"].Timing, len(got))
	}
}

// The answer is the mean, whether the server combines the other gradients together or one by one.
func TestMeanOfAllTrainers(t *testing.T) {
	for key, part := range averages() {
		t.Run(key, rapid.MakeCheck(func(t *rapid.T) {
			n := rapid.SampledFrom([]int{0, 1, 7, 2047, 2048, 2*2048 + 3}).Draw(t, "n")
			gradients := make([][]float32, rapid.IntRange(1, 6).Draw(t, "trainers"))
			built, err := part.Build(nil,
				sdk.ServerEnv{Trainers: len(gradients), Recorder: &sdk.Recorder{}, Engine: engine.Host})
			if err != nil {
				t.Fatal(err)
			}
			want := make([]float64, n)
			for trainer := range gradients {
				gradients[trainer] = make([]float32, n)
				scale := rapid.Float32Range(-4, 4).Draw(t, "scale")
				for i := range gradients[trainer] {
					gradients[trainer][i] = scale * float32(i%13)
					want[i] += float64(gradients[trainer][i]) / float64(len(gradients))
				}
			}
			server, sum, others := built.(sdk.ElementwiseServer), gradients[0], gradients[1:]
			for len(others) > 0 {
				together := rapid.IntRange(1, len(others)).Draw(t, "together")
				server.Combine(sum, others[:together])
				others = others[together:]
			}
			server.Finish(sum)
			requireNear(t, 0, sum, want)
		}))
	}
}

func requireNear(t *rapid.T, trainer int, got []float32, want []float64) {
	if len(got) != len(want) {
		t.Fatalf("trainer %d got %d elements instead of %d", trainer, len(got), len(want))
	}
	for i := range want {
		if math.Abs(float64(got[i])-want[i]) > 1e-5*max(1, math.Abs(want[i])) {
			t.Fatalf("trainer %d, element %d: %v instead of %v", trainer, i, got[i], want[i])
		}
	}
}
