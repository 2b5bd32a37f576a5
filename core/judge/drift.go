package judge

import (
	"math"
	"slices"

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

// DriftOf says how rounds differ, by the cells that have a value above 0 in each of them. Not ok is that they differ
// by no more than noise, or that too few cells or rounds tell. It is Friedman's test: each cell puts the rounds in order,
// and the orders resemble each other where the machine drifts.
func DriftOf(cells []Runs) (drift Drift, ok bool) {
	rounds, table := whole(cells)
	if len(table) < 2 || len(rounds) < 3 || !resembleEachOther(table) {
		return Drift{}, false
	}
	levels := make([]float64, len(rounds)) // of each round, as a logarithm
	for i := range rounds {
		var off []float64
		for _, row := range table {
			off = append(off, row[i]-medianOf(row))
		}
		levels[i] = medianOf(off)
	}
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

// orders is how often orders are drawn at random.
const orders = 2000

// resembleEachOther says whether the orders of rounds that cells have resemble each other as orders at random do in fewer
// than 1 of 100 cases. Distributions that approximate this do not hold for few cells.
func resembleEachOther(table [][]float64) bool {
	ranks := make([][]float64, len(table))
	for i, row := range table {
		ranks[i] = ranksOf(row)
	}
	is, random, as := spreadOf(ranks), splitmix.New(0, 0), 1
	for range orders {
		for _, row := range ranks {
			for i := len(row) - 1; i > 0; i-- {
				k := random.IntN(i + 1)
				row[i], row[k] = row[k], row[i]
			}
		}
		if spreadOf(ranks) >= is {
			as++
		}
		if float64(as) >= drifted*(orders+1) {
			return false
		}
	}
	return true
}

// spreadOf is the sum of squares of what each round has of ranks.
func spreadOf(ranks [][]float64) (sum float64) {
	for i := range ranks[0] {
		of := 0.0
		for _, row := range ranks {
			of += row[i]
		}
		sum += of * of
	}
	return sum
}

// whole are the rounds in which all cells have runs, and a row of logarithms for each cell. Cells that lack most rounds,
// and those with values that have no logarithm, are left out.
func whole(cells []Runs) (rounds []int, table [][]float64) {
	var all []map[int][]float64
	count := map[int]int{}
	for _, c := range cells {
		if len(c.Values) > 0 && c.InRounds() && finite(c.Values) && slices.Min(c.Values) > 0 {
			by := c.byRound(true)
			all = append(all, by)
			for r := range by {
				count[r]++
			}
		}
	}
	most := 0
	for _, by := range all {
		most = max(most, len(by))
	}
	all = slices.DeleteFunc(all, func(by map[int][]float64) bool { return 2*len(by) < most+1 })
	for _, r := range sortedKeys(count) {
		if !slices.ContainsFunc(all, func(by map[int][]float64) bool { return by[r] == nil }) {
			rounds = append(rounds, r)
		}
	}
	for _, by := range all {
		row := make([]float64, len(rounds))
		for i, r := range rounds {
			row[i] = by[r][0]
		}
		table = append(table, row)
	}
	return rounds, table
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
