package server

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// virtualCore is a core whose time advances only in the server's calls and in clock readings.
type virtualCore struct {
	ns     float64
	spent  float64 // time in the calls to be measured
	called bool
}

// virtualTime is a clock and a server on virtual cores. A block costs 80 ns, and a core's first
// block costs five times as much. Each cost varies randomly by up to a tenth.
type virtualTime struct {
	timing sdk.Timing
	core   *virtualCore // the core that is working
	random *rand.Rand
}

const (
	virtualReadingNS = 23.4
	// readingErrorNS is the error from rounding times to whole ns.
	readingErrorNS = 2
)

func (v *virtualTime) now() int64 {
	v.core.ns += virtualReadingNS
	return int64(v.core.ns)
}

func (v *virtualTime) pass(elements int, blockNS float64) {
	ns := blockNS * float64(elements) / comm.BlockElements * (0.9 + 0.2*v.random.Float64())
	if !v.core.called {
		v.core.called, ns = true, 5*ns
	}
	v.core.ns += ns
	v.core.spent += ns
}

// Combine counts as the server's time only if the server does all work at the last arrival.
func (v *virtualTime) Combine(sum []float32, _ [][]float32) {
	if v.timing == sdk.OnLastArrival {
		v.pass(len(sum), 50)
	} else {
		v.core.ns += 1000
	}
}

func (v *virtualTime) Finish(sum []float32) {
	if v.timing == sdk.OnLastArrival {
		v.pass(len(sum), 30)
	} else {
		v.pass(len(sum), 80)
	}
}

// virtualReduction returns a reduction for two trainers in virtual time.
func virtualReduction(timing sdk.Timing, seed uint64) (*reduction, *virtualTime) {
	v := &virtualTime{timing: timing, core: &virtualCore{}, random: rand.New(rand.NewPCG(seed, 0))} // #nosec G404 -- not secret
	r := &reduction{server: v, timing: timing, pool: &pool{}, clock: newClock(v.now)}
	v.core = &virtualCore{} // the calibration advanced the old core's time
	return r, v
}

// The measured time of a server's own calls is within a tenth of the true time. The bound holds for
// few and many blocks, on one core and on two. The first block is five times slower and the last
// one may be short.
func TestSpentTimeIsWithinATenth(t *testing.T) {
	const most = 1000
	gradients := [][]float32{make([]float32, most*comm.BlockElements), make([]float32, most*comm.BlockElements)}
	for _, timing := range timings {
		t.Run(fmt.Sprint(timing), func(t *testing.T) {
			worst := 0.0
			for blocks := 1; blocks <= most; blocks += 1 + blocks/50 {
				for _, tail := range []int{1, 100, comm.BlockElements} {
					n := (blocks-1)*comm.BlockElements + tail
					parts := [][]float32{gradients[0][:n], gradients[1][:n]}
					for cores, spend := range map[int]func(*reduction, *virtualTime,
						[][]float32) (int64, float64){1: onOneCore, 2: onTwoCores} {
						r, v := virtualReduction(timing, uint64(blocks)) // #nosec G115 -- not negative
						got, want := spend(r, v, parts)
						off := max(0, math.Abs(float64(got)-want)-readingErrorNS) / want
						if worst = max(worst, off); off > 0.1 {
							t.Fatalf("timing %v, %d cores, %d blocks, the last of %d elements: %d ns instead of %.0f",
								timing, cores, blocks, tail, got, want)
						}
					}
				}
			}
			t.Logf("timing %v: at most %.1f %% off", timing, 100*worst)
		})
	}
}

// onOneCore adds both gradients. onOneCore returns the measured time and the true time.
func onOneCore(r *reduction, v *virtualTime, parts [][]float32) (int64, float64) {
	c := &r.newChunks(denseOf(len(parts[0])), len(parts))[0]
	_, _, _ = c.add(arrival(0, parts[0], false))
	ns, _, _ := c.add(arrival(1, parts[1], false))
	return ns, v.core.spent
}

// onTwoCores distributes the shares randomly over two workers. One worker gets fewer shares.
func onTwoCores(r *reduction, v *virtualTime, parts [][]float32) (int64, float64) {
	c := &r.newChunks(denseOf(len(parts[0])), len(parts))[0]
	copy(c.blocks.parts, parts)
	c.blocks.last, c.blocks.rest = true, []int{1}
	helper := &worker{parts: make([][]float32, len(parts))}
	r.pool.helpers = []*worker{helper}
	workers, cores := []*worker{&c.own, helper}, []*virtualCore{{}, {}}
	for from := 0; from < len(parts[0]); from += shareElements {
		k := 0
		if v.random.Float64() < 0.2 {
			k = 1
		}
		v.core = cores[k]
		c.blocks.run(workers[k], from, min(from+shareElements, len(parts[0])))
	}
	return r.pool.longest(&c.own), max(cores[0].spent, cores[1].spent)
}

// The server's calls for a single trainer are measured as a whole, less the clock's own cost.
func TestOnlyTrainerCostsWhatItsCallTakes(t *testing.T) {
	for _, timing := range timings {
		t.Run(fmt.Sprint(timing), func(t *testing.T) {
			r, v := virtualReduction(timing, 1)
			c := &r.newChunks(denseOf(comm.BlockElements), 1)[0]
			got, last, _ := c.add(arrival(0, make([]float32, comm.BlockElements), false))
			if want := v.core.spent; !last || math.Abs(float64(got)-want) > readingErrorNS {
				t.Errorf("timing %v: %d ns instead of %.0f", timing, got, want)
			}
		})
	}
}

// newClock finds the cost of a reading even if other work interrupts the readings.
func TestClockKnowsItsCost(t *testing.T) {
	core, readings := 0.0, 0
	c := newClock(func() int64 {
		if readings++; readings%300 == 0 {
			core += 1e6
		}
		core += virtualReadingNS
		return int64(core)
	})
	if math.Abs(c.readingNS-virtualReadingNS) > 0.1 {
		t.Errorf("a reading costs %v ns instead of %v", c.readingNS, virtualReadingNS)
	}
}
