package judge

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/splitmix"
)

// Drift is how the rounds of a sweep differ, all cells together.
type Drift struct {
	// Least and Most are the rounds with the least and the largest values.
	Least, Most int
	// Change is from the least round to the largest, relative: 0.05 is 5 % more.
	Change float64
	// Steady says that it goes one way from the first round to the last, but for noise.
	Steady bool
}

// drifted is p below which rounds are said to differ.
const drifted = 0.01

// DriftOf says how rounds differ. It uses the cells that were made in rounds and whose values are all above 0; they may
// lack rounds. ok is false if the rounds differ by no more than noise, or if there are too few cells or rounds. It is
// Friedman's test: each cell puts its rounds in order, and on a machine that drifts these orders resemble each other.
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

// present has the values of a cell and their rounds, as indices of those that are compared.
type present struct {
	rounds []int
	values []float64
}

// rowsOf returns the rounds that are compared, and a row of logarithms for each cell. It leaves out cells that lack
// most rounds, those with values that have no logarithm, and rounds that half of the other cells lack. So any two
// rounds have a cell in common.
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

// polishes is how often levelsOf takes medians. The levels hardly change after a few.
const polishes = 10

// levelsOf returns how far cells are above their usual value in each round. It takes the medians of cells and of rounds
// in turn, so a cell that lacks the fastest rounds does not count as a slow one.
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

// orders is how often orders are drawn at random.
const orders = 2000

// resembleEachOther says whether the orders of rounds that cells have resemble each other as orders at random do in
// fewer than 1 of 100 cases. Distributions that approximate this do not hold for few cells.
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

// spreadOf adds up the ranks of each round and returns the sum of their squares.
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

// ranksOf are the ranks of values, from 1 on; equal ones share theirs.
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
