package server

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// virtualCore is a core whose time passes in the calls of a server and in readings of
// the clock alone.
type virtualCore struct {
	ns     float64
	spent  float64 // in the calls that are to be timed
	called bool
}

// virtualTime is a clock and a server on virtual cores. A block costs 80 ns, the first
// one of a core five times as much, each up to a tenth more or less.
type virtualTime struct {
	timing sdk.Timing
	core   *virtualCore // that works
	random *rand.Rand
}

const (
	virtualReadingNS = 23.4
	// readingErrorNS is how wrong whole ns make a time.
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

// Combine is timed as the server's if that does everything on the last arrival.
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

// virtualReduction is a reduction for two trainers in virtual time.
func virtualReduction(timing sdk.Timing, seed uint64) (*reduction, *virtualTime) {
	v := &virtualTime{timing: timing, core: &virtualCore{}, random: rand.New(rand.NewPCG(seed, 0))} // #nosec G404 -- not secret
	r := &reduction{server: v, timing: timing, pool: &pool{}, clock: newClock(v.now)}
	v.core = &virtualCore{} // calibrating took time
	return r, v
}

// What a server's own calls are said to take is within a tenth of what they took, for
// few blocks and many, though the first is five times slower and the last one short,
// on one core and on two.
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

// onOneCore takes both gradients; it gives the time that is said to be spent and what was.
func onOneCore(r *reduction, v *virtualTime, parts [][]float32) (int64, float64) {
	c := &r.newChunks(denseOf(len(parts[0])), len(parts))[0]
	_, _, _ = c.add(arrival(0, parts[0], false))
	ns, _, _ := c.add(arrival(1, parts[1], false))
	return ns, v.core.spent
}

// onTwoCores gives the shares to two workers as chance has it, one of them being slow.
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

// The calls for an only trainer are timed whole, and the clock's own cost is taken off.
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

// A reading of the clock costs what it says, though other work comes between.
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
