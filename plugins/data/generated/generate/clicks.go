package main

import (
	"fmt"
	"math"
	"sort"
	"strconv"

	"github.com/psbench/psbench/internal/splitmix"
)

const (
	clickSeed = 2014
	clickRows = 20_000
	clickBias = -1.0 // about a quarter of the labels become 1
)

// A number is exp(mean + spread*z) rounded down, where z is normal. The number adds weight*z to the label's
// log-odds. A missing number adds nothing.
type number struct{ mean, spread, weight, missing float64 }

var numbers = [13]number{
	{1.0, 1.0, 2.0, 0.10}, {2.0, 1.2, 0, 0}, {1.8, 1.1, -1.2, 0.15}, {1.5, 0.8, 0, 0.15},
	{3.5, 1.3, -1.5, 0.02}, {2.5, 1.2, 0, 0.15}, {1.2, 1.0, 1.5, 0.04}, {2.0, 0.8, 0, 0},
	{2.8, 1.0, 1.0, 0.04}, {0.2, 0.5, 0, 0.30}, {0.9, 0.7, 1.2, 0.04}, {0.1, 0.6, 0, 0.60}, {1.6, 0.9, -1.0, 0.15},
}

// A category has a number of values. Value i occurs with a probability proportional to 1/(i+1)^1.35. Each value
// adds its own weight to the label's log-odds. The weights are normal with this spread.
type category struct {
	values          int
	spread, missing float64
}

var categories = [26]category{
	{200, 0, 0}, {100, 0.6, 0}, {3000, 0.3, 0.03}, {2000, 0, 0.03}, {30, 0.9, 0}, {12, 0.8, 0.12}, {1500, 0.3, 0},
	{50, 0.6, 0}, {3, 0.8, 0}, {2000, 0, 0}, {800, 0, 0}, {3000, 0.3, 0.03}, {600, 0, 0}, {20, 0.9, 0},
	{1000, 0, 0}, {2500, 0, 0.03}, {10, 1.0, 0}, {400, 0.5, 0}, {200, 0, 0.44}, {4, 0.6, 0.44}, {2500, 0, 0.03},
	{10, 0, 0.76}, {15, 0.8, 0}, {1500, 0, 0.03}, {30, 0, 0.44}, {900, 0, 0.44},
}

// clicks generates a click log in the format of the Criteo data sets. A label is 1 with the probability
// 1/(1+exp(-s)). The log-odds s are the sum of clickBias and the contributions of the line's numbers and
// categories.
func clicks() []byte {
	draw := splitmix.New(clickSeed, 0)
	cumulative, weights := zipf(), categoryWeights()
	var out []byte
	for range clickRows {
		odds := clickBias
		var columns []byte
		for _, n := range numbers {
			z := normal(draw)
			columns = append(columns, '\t')
			if uniform(draw) < n.missing {
				continue
			}
			odds += n.weight * z
			columns = strconv.AppendInt(columns, int64(math.Exp(n.mean+n.spread*z)), 10)
		}
		for k, c := range categories {
			value := sort.SearchFloat64s(cumulative[k], uniform(draw))
			columns = append(columns, '\t')
			if uniform(draw) < c.missing {
				continue
			}
			odds += weights[k][value]
			columns = fmt.Appendf(columns, "%08x", splitmix.New(clickSeed, uint64(k<<32+value)).Uint64()>>32) // #nosec G115 -- small and positive
		}
		label := byte('0')
		if uniform(draw) < 1/(1+math.Exp(-odds)) {
			label = '1'
		}
		out = append(append(append(out, label), columns...), '\n')
	}
	return out
}

// zipf returns, for each category, the probability that a value is at most i.
func zipf() (cumulative [26][]float64) {
	for k, c := range categories {
		sum := 0.0
		for i := range c.values {
			sum += math.Pow(float64(i+1), -1.35)
			cumulative[k] = append(cumulative[k], sum)
		}
		for i := range cumulative[k] {
			cumulative[k][i] /= sum
		}
	}
	return cumulative
}

func categoryWeights() (weights [26][]float64) {
	draw := splitmix.New(clickSeed, 1)
	for k, c := range categories {
		for range c.values {
			weights[k] = append(weights[k], c.spread*normal(draw))
		}
	}
	return weights
}

// uniform returns a number from 0 to below 1.
func uniform(s *splitmix.Stream) float64 { return float64(s.Uint64()>>11) / (1 << 53) }

// normal returns a number of mean 0 and variance 1, by the Box-Muller transform.
func normal(s *splitmix.Stream) float64 {
	u, v := 1-uniform(s), uniform(s)
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}
