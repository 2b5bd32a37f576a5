package judge

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/splitmix"
)

// Drift describes how much the rounds of a sweep differ, over all cells.
type Drift struct {
	// Least and Most are the rounds with the smallest and the largest values.
	Least, Most int
	// Change is the relative change from round Least to round Most: 0.05 is 5 % more.
	Change float64
	// Steady means that the rounds change in one direction from first to last, except for noise.
	Steady bool
}

// drifted is the p-value below which rounds count as different.
const drifted = 0.01

// DriftOf reports how rounds differ. It uses the cells that were made in rounds and whose values are all above 0; a
// cell may lack some rounds. ok is false if the rounds differ by no more than noise, or if there are too few cells or
// rounds.
//
// DriftOf uses Friedman's test: each cell ranks its rounds, and on a machine that drifts these rankings resemble each
// other.
func DriftOf(cells []Runs) (drift Drift, ok bool) {
	rounds, rows := rowsOf(cells)
	if len(rows) < 2 || len(rounds) < 3 || !resembleEachOther(len(rounds), rows) {
		return Drift{}, false
	}
	levels := levelsOf(len(rounds), rows)
	least, most := 0, 0
	for i, v := range levels {
		if v < levels[least] {
			least = i
		}
		if v > levels[most] {
			most = i
		}
	}
	_, p := kendall(levels)
	return Drift{rounds[least], rounds[most], math.Expm1(levels[most] - levels[least]), p < drifted}, least != most
}

// present holds the values of a cell. rounds holds, for each value, the index of its round among the compared rounds.
type present struct {
	rounds []int
	values []float64
}

// rowsOf returns the rounds to compare, and a row of logarithms for each cell. It drops cells that lack most rounds and
// cells with values that have no logarithm. It then drops rounds that half of the remaining cells lack, so any two
// remaining rounds have a cell in common.
func rowsOf(cells []Runs) (rounds []int, rows []present) {
	var all []map[int][]float64
	most := 0
	for _, c := range cells {
		if len(c.Values) > 0 && c.InRounds() && numeral.Finite(c.Values...) && slices.Min(c.Values) > 0 {
			by := c.byRound(true)
			all, most = append(all, by), max(most, len(by))
		}
	}
	all = slices.DeleteFunc(all, func(by map[int][]float64) bool { return 2*len(by) < most+1 })
	count := map[int]int{}
	for _, by := range all {
		for r := range by {
			count[r]++
		}
	}
	for _, r := range sortedKeys(count) {
		if 2*count[r] > len(all) {
			rounds = append(rounds, r)
		}
	}
	for _, by := range all {
		var of present
		for i, r := range rounds {
			if values := by[r]; values != nil {
				of.rounds, of.values = append(of.rounds, i), append(of.values, stat.Mean(values, nil))
			}
		}
		rows = append(rows, of)
	}
	return rounds, rows
}

// polishes is the number of passes in levelsOf. The levels hardly change after a few passes.
const polishes = 10

// levelsOf returns, for each round, how far its values lie above the usual values of their cells. It alternates between
// the medians of cells and the medians of rounds. A cell that lacks the fastest rounds is therefore not mistaken for a
// slow cell.
func levelsOf(rounds int, rows []present) []float64 {
	levels := make([]float64, rounds)
	for range polishes {
		off := make([][]float64, rounds)
		for _, of := range rows {
			own := make([]float64, len(of.values))
			for i, v := range of.values {
				own[i] = v - levels[of.rounds[i]]
			}
			for i, v := range of.values {
				off[of.rounds[i]] = append(off[of.rounds[i]], v-numeral.Median(own))
			}
		}
		for i := range off {
			levels[i] = numeral.Median(off[i])
		}
	}
	return levels
}

// orders is the number of random rankings that resembleEachOther draws.
const orders = 2000

// resembleEachOther reports whether the cells' rankings of the rounds agree more than random rankings do, with p below
// drifted. It compares them with random rankings because the usual approximations do not hold for few cells.
func resembleEachOther(rounds int, rows []present) bool {
	ranks := make([]present, len(rows))
	for i, of := range rows {
		ranks[i] = present{of.rounds, ranksOf(of.values)}
		mean := float64(len(of.values)+1) / 2
		for k := range ranks[i].values {
			ranks[i].values[k] -= mean // so a missing round counts as a middle one
		}
	}
	is, random, as := spreadOf(rounds, ranks), splitmix.New(0, 0), 1
	for range orders {
		for _, of := range ranks {
			for i := len(of.values) - 1; i > 0; i-- {
				k := random.IntN(i + 1)
				of.values[i], of.values[k] = of.values[k], of.values[i]
			}
		}
		if spreadOf(rounds, ranks) >= is {
			as++
		}
		if float64(as) >= drifted*(orders+1) {
			return false
		}
	}
	return true
}

// spreadOf adds up the ranks of each round and returns the sum of the squares of these totals.
func spreadOf(rounds int, ranks []present) (sum float64) {
	of := make([]float64, rounds)
	for _, r := range ranks {
		for i, v := range r.values {
			of[r.rounds[i]] += v
		}
	}
	for _, v := range of {
		sum += v * v
	}
	return sum
}

// ranksOf returns the ranks of values, from 1. Equal values share their mean rank.
func ranksOf(values []float64) []float64 {
	ranks := make([]float64, len(values))
	for i, v := range values {
		for _, w := range values {
			switch {
			case w < v:
				ranks[i]++
			case w == v:
				ranks[i] += 0.5
			}
		}
		ranks[i] += 0.5
	}
	return ranks
}
