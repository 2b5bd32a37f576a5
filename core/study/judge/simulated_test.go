package judge

import (
	"math"
	"math/rand/v2"
)

// sweep is the design of a simulated sweep. Each round has a run of the baseline, a run of its A/A cell and a run of
// each other cell, in random order.
type sweep struct {
	cells, rounds int
	noise         noise
	machine       machine
	// change is the relative difference between the last cell and the others.
	change float64
	// each gives every cell its own baseline, without an A/A cell.
	each bool
	// apart compares the runs as if they were not made in rounds.
	apart bool
}

// noise describes how runs of the same configuration differ, relative to the median.
type noise struct {
	name string
	// baseline and arm draw a run of the baseline and of another cell. If arm is nil, baseline draws both.
	baseline, arm func(*rand.Rand) float64
	// memory is the share of a run's logarithm that carries over to the next run.
	memory float64
	// step is the unit to which all final values are rounded. 0 means no rounding.
	step float64
}

func normalNoise(deviation float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return 1 + deviation*r.NormFloat64() }
}

func lognormal(deviation float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return math.Exp(deviation * r.NormFloat64()) }
}

// skewed returns a draw from a skewed distribution with median 1.
func skewed(by float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return 1 / (1 + by*(r.ExpFloat64()-math.Ln2)) }
}

// slowed draws normal noise of 1 %. In one of ten runs it adds an exponential slowdown with a mean of 10 %.
func slowed(r *rand.Rand) float64 {
	value := 1 + 0.01*r.NormFloat64()
	if r.Float64() < 0.1 {
		value /= 1 + 0.1*r.ExpFloat64()
	}
	return value
}

var plain = noise{name: "normal, 1 %", baseline: normalNoise(0.01)}

var rounded = noise{name: "normal, 1 %, rounded to two digits", baseline: normalNoise(0.01), step: 0.01}

var outliers = noise{name: "a tenth of runs slowed by exp(10 %)", baseline: slowed}

var noises = []noise{
	plain,
	rounded,
	{name: "lognormal, 5 %", baseline: lognormal(0.05)},
	{name: "lognormal, 50 %", baseline: lognormal(0.5)},
	{name: "autocorrelated by 0.7, 1 %", baseline: lognormal(0.01 * math.Sqrt(1-0.7*0.7)), memory: 0.7},
	{name: "slowed by exp(5 %)", baseline: func(r *rand.Rand) float64 { return 1 / (1 + 0.05*r.ExpFloat64()) }},
	outliers,
	{name: "cells 2 times as noisy as the baseline", baseline: normalNoise(0.01), arm: normalNoise(0.02)},
	{name: "cells 3 times as noisy", baseline: normalNoise(0.01), arm: normalNoise(0.03)},
	{name: "cells 5 times as noisy", baseline: normalNoise(0.01), arm: normalNoise(0.05)},
	{name: "cells skewed by exp(1 %), with the same median", baseline: normalNoise(0.01), arm: skewed(0.01)},
	{name: "cells skewed by exp(3 %), with the same median", baseline: normalNoise(0.01), arm: skewed(0.03)},
}

// machine describes how a run's value depends on its round and on its time in the sweep. The time goes from 0 to 1.
type machine struct {
	name  string
	round float64 // standard deviation of the logarithm between rounds
	trend float64 // relative change from the first run to the last
}

var machines = []machine{
	{name: "on a steady machine"},
	{name: "with rounds that differ by 5 %", round: 0.05},
	{name: "with a trend of 20 % over the sweep", trend: 0.2},
}

// judged simulates the sweep and returns one change for each cell, in the order of the cells.
func (s sweep) judged(r *rand.Rand) []Change {
	made := s.runs(r)
	if s.each {
		pairs := make([]Pair, s.cells)
		for i := range pairs {
			pairs[i] = Pair{made[i], made[s.cells+i]}
			if s.apart {
				pairs[i] = Pair{Apart(made[i].Values), Apart(made[s.cells+i].Values)}
			}
		}
		return Compare(pairs, true, Floor{})
	}
	floor, err := FloorOfRounds(made[0], made[1])
	if err != nil {
		panic(err)
	}
	pairs := make([]Pair, s.cells)
	for i := range pairs {
		pairs[i] = Pair{joined(made[0], made[1]), made[2+i]}
	}
	return Compare(pairs, true, floor)
}

// runs returns the runs of the baselines, followed by those of the cells.
func (s sweep) runs(r *rand.Rand) []Runs {
	baselines := 2
	if s.each {
		baselines = s.cells
	}
	made := make([]Runs, baselines+s.cells)
	total, time := float64(len(made)*s.rounds), 0.0
	last := 0.0
	if s.noise.memory > 0 {
		last = math.Log(s.noise.baseline(r)) / math.Sqrt(1-s.noise.memory*s.noise.memory)
	}
	for round := range s.rounds {
		level := math.Exp(s.machine.round * r.NormFloat64())
		for _, i := range r.Perm(len(made)) {
			draw := s.noise.baseline
			if i >= baselines && s.noise.arm != nil {
				draw = s.noise.arm
			}
			value := draw(r)
			if s.noise.memory > 0 {
				last = s.noise.memory*last + math.Log(value)
				value = math.Exp(last)
			}
			if i == len(made)-1 {
				value *= 1 + s.change
			}
			value *= level * (1 + s.machine.trend*time/total)
			if s.noise.step > 0 {
				value = math.Round(value/s.noise.step) * s.noise.step
			}
			made[i].Values = append(made[i].Values, value)
			made[i].Rounds = append(made[i].Rounds, round)
			time++
		}
	}
	return made
}

func joined(a, b Runs) Runs {
	return Runs{append(a.Values[:len(a.Values):len(a.Values)], b.Values...),
		append(a.Rounds[:len(a.Rounds):len(a.Rounds)], b.Rounds...)}
}
