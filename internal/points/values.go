package points

import "github.com/psbench/psbench/internal/points/harness"

// largeBatch has enough indices for the rows of the huge table.
const largeBatch = 2048

// Values is the name of the point that compares every element.
const Values = "values"

// values requires that a hook or a server gives the answer that it declares.
var values = harness.Point{
	Name: Values,
	Promise: "every element is what the part declares to answer, the first and the last of a bucket too: of 1, 17 " +
		"and 1,000,003 elements and of rows, with zeros and with numbers of all magnitudes, for 1 to 3 trainers",
	Worlds:  []int{1, 2, 3},
	Large:   true,
	Samples: largeBatch,
	OnRank: func(r *harness.Rank) error {
		answerer, end, err := answererOf(r)
		if err != nil {
			return err
		}
		defer end()
		if answerer == nil {
			return Undeclared
		}
		for batch, fill := range []filling{plain, extremes, spreadZeros} {
			if err := reduceAll(r, int64(batch), fill); err != nil {
				return err
			}
			if err := compareAnswers(r, answerer, int64(batch), fill); err != nil {
				return err
			}
		}
		return nil
	},
}

// Undeclared is the reason for comparing no value: the part does not declare its answer.
const Undeclared = harness.NotSeen("no value was compared, because the part does not declare its answer: " +
	"declare it (sdk.Answering, answers in Python), or say what to expect")
