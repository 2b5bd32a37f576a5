package points

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/psbench/psbench/comm"
)

// What a rank sees of servers of tables over its links.

// linkedLookup looks all sorts of bags up. What nobody asked for must stay as it is.
func linkedLookup(r *Rank) error { return sums(r.leastRows(), r.lookUpBags) }

// linkedUpdates has gradients applied, of a row twice and of several rows.
func linkedUpdates(r *Rank) error {
	rows := r.leastRows()
	if err := linkedUpdate(r, 0, rows-1); err != nil {
		return err
	}
	return everyRow(rows, r.lookUpBags, func(bags [][]int64) error {
		if _, err := r.lookUp(bags); err != nil {
			return err
		}
		return r.update()
	})
}

// leastRows are those of the smallest table.
func (r *Rank) leastRows() int {
	tables := r.Tables.Store.Tables
	least := tables[0].Rows
	for _, t := range tables {
		least = min(least, t.Rows)
	}
	return least
}

// lookUpBags gives the joined columns of each bag, behind which nothing must be written.
func (r *Rank) lookUpBags(bags [][]int64) (out [][]float32, err error) {
	values, err := r.lookUp(bags)
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

// linkedUpdate applies the gradients of a row, which must change it, and not another one, if there
// is one.
func linkedUpdate(r *Rank, row, other int) error {
	bags := [][]int64{{int64(row)}}
	if other > row {
		bags = append(bags, []int64{int64(other)})
	}
	look := func() (own, others []float32, err error) {
		values, err := r.lookUp(bags)
		columns := r.Tables.Store.Columns()
		return values[:min(columns, len(values))], values[min(columns, len(values)):], err
	}
	own, others, err := look()
	if err != nil {
		return err
	}
	if _, err := r.lookUp([][]int64{{int64(row), int64(row)}, {int64(row)}}); err != nil {
		return err
	}
	time.Sleep(moment / 10) // in which other ranks call
	if err := r.update(); err != nil {
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

// lookUp gives the joined columns of bags, of all tables.
func (r *Rank) lookUp(bags [][]int64) ([]float32, error) {
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
		calls = append(calls, link.Lookup(r.batch))
	}
	if err := r.waitAll(calls); err != nil {
		return nil, err
	}
	values := slices.Clone(store.Values[:len(bags)*store.Columns()])
	return values, finite(fmt.Sprintf("the lookup of the bags %v", bags), values)
}

// update has the last lookup's gradients applied.
func (r *Rank) update() error {
	store := r.Tables.Store
	for i := range store.Gradients {
		store.Gradients[i] = 0.5
	}
	var calls []*comm.Future
	for _, link := range r.Tables.Links {
		calls = append(calls, link.Update(r.batch))
	}
	r.batch++
	return r.waitAll(calls)
}

func (r *Rank) waitAll(calls []*comm.Future) (first error) {
	for _, call := range calls {
		if err := within(r.subject.timeout(), call.Wait); first == nil {
			first = err
		}
	}
	return first
}
