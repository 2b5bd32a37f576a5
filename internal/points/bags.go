package points

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// Checks of a table's bags, used on the server directly and over links.

// sums looks up bags of one row, of several rows, of the same row twice, and empty bags. Each result must be the
// sum of its rows.
func sums(rows int, look func(bags [][]int64) ([][]float32, error)) error {
	last := int64(rows - 1)
	alone, err := look([][]int64{{0}, {last}})
	if err != nil {
		return err
	}
	of := map[int64][]float32{0: alone[0], last: alone[1]}
	for _, bags := range [][][]int64{{{0}}, {{last}, {}, {0, last}, {0, 0, 0}}, {{0, 0}}, {}} {
		got, err := look(bags)
		if err != nil {
			return err
		}
		for i, bag := range bags {
			for k, v := range got[i] {
				want, size := 0.0, 1.0
				for _, row := range bag {
					want += float64(of[row][k])
					size += math.Abs(float64(of[row][k]))
				}
				if math.Abs(float64(v)-want) > 1e-5*size {
					return fmt.Errorf("the lookup of bag %v has %g in column %d but must have %g, the sum of the bag's "+
						"rows: row 0 has %g and row %d has %g",
						bag, v, k, want, of[0][k], last, of[last][k])
				}
			}
		}
	}
	return nil
}

// everyRow applies gradients to bags of several rows. This must change each of these rows and no other.
func everyRow(rows int, look func(bags [][]int64) ([][]float32, error), teach func(bags [][]int64) error) error {
	last := int64(rows - 1) // not trained, if the table has other rows
	taught := []int64{0}
	for row := int64(1); row < min(3, last); row++ {
		taught = append(taught, row)
	}
	var each [][]int64
	for _, row := range append(slices.Clone(taught), last) {
		each = append(each, []int64{row})
	}
	before, err := look(each)
	if err != nil {
		return err
	}
	before = clones(before)
	bags := [][]int64{taught[:len(taught)-1], taught[len(taught)-1:]}
	if err := teach(bags); err != nil {
		return err
	}
	after, err := look(each)
	if err != nil {
		return err
	}
	for i, row := range taught {
		if slices.Equal(before[i], after[i]) {
			return fmt.Errorf("row %d is %v before and after its gradient was applied, with the bags %v",
				row, after[i][:1], bags)
		}
	}
	if i := len(taught); last > 0 && !slices.Equal(before[i], after[i]) {
		return fmt.Errorf("row %d, which no bag held, was %v and is %v", last, before[i][:1], after[i][:1])
	}
	return sums(rows, look) // now for rows with changed values
}

// everyTime checks that a row's gradient is applied as often as its bags hold it. everyTime chooses gradients so
// that one more of them reverses the sign of their sum. So the check works with any optimizer, even if all its steps
// have the same length.
func everyTime(server sdk.TableServer, spec comm.TableSpec) error {
	row := func(bags [][]int64, gradients ...float32) ([]float32, error) {
		server.Reset()
		if err := teach(server, spec, bags, gradients); err != nil {
			return nil, err
		}
		out, err := lookup(server, spec, [][]int64{{0}})
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
	once, again, twice := [][]int64{{0}}, [][]int64{{0}, {0}}, [][]int64{{0, 0}, {0}}
	for _, c := range []struct {
		passedOver         string
		bags, fewer        [][]int64
		gradients, ofFewer []float32
	}{
		{"an index that comes twice in a bag", twice, again, []float32{0.5, -0.75}, []float32{0.5, -0.75}},
		{"the second bag that holds an index", again, once, []float32{0.5, -0.75}, []float32{0.5}},
		{"the first of two bags that hold an index", again, once, []float32{-0.75, 0.5}, []float32{0.5}},
	} {
		all, err := row(c.bags, c.gradients...)
		if err != nil {
			return err
		}
		fewer, err := row(c.fewer, c.ofFewer...)
		if err != nil {
			return err
		}
		if slices.Equal(all, fewer) {
			return fmt.Errorf("%s is passed over: the gradients %g of the bags %v leave row 0 at %g, as the "+
				"gradients %g of the bags %v do",
				c.passedOver, c.gradients, c.bags, all[:1], c.ofFewer, c.fewer)
		}
	}
	return nil
}

func clones(lists [][]float32) (out [][]float32) {
	for _, list := range lists {
		out = append(out, slices.Clone(list))
	}
	return out
}
