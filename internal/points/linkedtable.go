package points

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/points/harness"
)

// The checks of a rank that uses table servers over its links.

// linkedLookup looks up all kinds of bags. Other memory must not change.
func linkedLookup(r *harness.Rank) error { return sums(leastRows(r), linkedLook(r)) }

// linkedUpdates applies gradients to a row twice and to several rows.
func linkedUpdates(r *harness.Rank) error {
	rows := leastRows(r)
	if err := linkedUpdate(r, 0, rows-1); err != nil {
		return err
	}
	return everyRow(rows, linkedLook(r), func(bags [][]int64) error {
		if _, err := lookUp(r, bags); err != nil {
			return err
		}
		return update(r)
	})
}

// leastRows returns the number of rows of the smallest table.
func leastRows(r *harness.Rank) int {
	tables := r.Tables.Store.Tables
	least := tables[0].Rows
	for _, t := range tables {
		least = min(least, t.Rows)
	}
	return least
}

// linkedLook returns lookUpBags for a rank.
func linkedLook(r *harness.Rank) func(bags [][]int64) ([][]float32, error) {
	return func(bags [][]int64) ([][]float32, error) { return lookUpBags(r, bags) }
}

// lookUpBags returns the joined columns of each bag. Nothing may be written behind them.
func lookUpBags(r *harness.Rank, bags [][]int64) (out [][]float32, err error) {
	values, err := lookUp(r, bags)
	if err != nil {
		return nil, err
	}
	store := r.Tables.Store
	for i, v := range store.Values[len(values):] {
		if !math.IsInf(float64(v), 1) {
			return nil, fmt.Errorf("the lookup of %d bags writes %d values behind them", len(bags), i+1)
		}
	}
	for i := range bags {
		out = append(out, values[i*store.Columns():(i+1)*store.Columns()])
	}
	return out, nil
}

// linkedUpdate applies the gradient of a row. This must change the row and must not change another row, if there is
// one.
func linkedUpdate(r *harness.Rank, row, other int) error {
	bags := [][]int64{{int64(row)}}
	if other > row {
		bags = append(bags, []int64{int64(other)})
	}
	look := func() (own, others []float32, err error) {
		values, err := lookUp(r, bags)
		columns := r.Tables.Store.Columns()
		return values[:min(columns, len(values))], values[min(columns, len(values)):], err
	}
	own, others, err := look()
	if err != nil {
		return err
	}
	if _, err := lookUp(r, [][]int64{{int64(row), int64(row)}, {int64(row)}}); err != nil {
		return err
	}
	time.Sleep(harness.Moment / 10) // other ranks call meanwhile
	if err := update(r); err != nil {
		return err
	}
	after, othersAfter, err := look()
	switch {
	case err != nil:
		return err
	case slices.Equal(own, after):
		return fmt.Errorf("row %d is %v before and after its gradient was applied", row, own[:1])
	case !slices.Equal(others, othersAfter):
		return fmt.Errorf("row %d, which no bag held, was %v and is %v", other, others[:1], othersAfter[:1])
	}
	return nil
}

// lookUp returns the joined columns of bags from all tables.
func lookUp(r *harness.Rank, bags [][]int64) ([]float32, error) {
	offsets, indices := []int64{0}, []int64{}
	for _, bag := range bags {
		indices = append(indices, bag...)
		offsets = append(offsets, int64(len(indices)))
	}
	store := r.Tables.Store
	if err := store.Ask(offsets, indices); err != nil {
		return nil, err
	}
	for i := range store.Values {
		store.Values[i] = float32(math.Inf(1))
	}
	var calls []*comm.Future
	for _, link := range r.Tables.Links {
		calls = append(calls, link.Lookup(r.TableBatch))
	}
	if err := waitAll(r, calls); err != nil {
		return nil, err
	}
	values := slices.Clone(store.Values[:len(bags)*store.Columns()])
	return values, harness.Finite(fmt.Sprintf("the lookup of the bags %v", bags), values)
}

// update applies the gradients of the last lookup.
func update(r *harness.Rank) error {
	store := r.Tables.Store
	for i := range store.Gradients {
		store.Gradients[i] = 0.5
	}
	var calls []*comm.Future
	for _, link := range r.Tables.Links {
		calls = append(calls, link.Update(r.TableBatch))
	}
	r.TableBatch++
	return waitAll(r, calls)
}

func waitAll(r *harness.Rank, calls []*comm.Future) (first error) {
	for _, call := range calls {
		if err := harness.Within(r.Subject.Patience(), call.Wait); first == nil {
			first = err
		}
	}
	return first
}
