package result

import (
	"fmt"
	"iter"
	"slices"

	"github.com/psbench/psbench/core/record/folder/npy"
)

// These columns hold the data for throughput and evaluation, in rows of fixed width, and the sums of losses.
const (
	workColumn, workWidth   = "work", 6
	foundColumn, foundWidth = "evaluation.found", 5
	lossSumColumn           = "evaluation.loss_sum"
	scoreColumn, scoreWidth = "evaluation.scores", 4
)

// row returns the row of the column work for w.
func (w Work) row() [workWidth]int64 {
	pass := int64(1)
	if w.WarmUp {
		pass = 0
	}
	return [...]int64{pass, int64(w.Rank), w.Samples, w.StartNS, w.EndNS, w.EvaluatedNS}
}

func (f Found) row() [foundWidth]int64 {
	return [...]int64{int64(f.Epoch), int64(f.Rank), f.Samples, f.Correct, f.Targets}
}

func (s Score) row() [scoreWidth]int64 {
	return [...]int64{int64(s.Epoch), int64(s.Bin), s.Positives, s.Negatives}
}

// recordedColumns returns the columns with the data that Compute needs.
func (r *Result) recordedColumns() (columns []npy.Column) {
	add := func(name string, count int, ints iter.Seq[int64]) {
		if count > 0 {
			columns = append(columns, npy.Column{Name: name, Count: count, Ints: ints})
		}
	}
	add(workColumn, workWidth*len(r.Works), func(yield func(int64) bool) {
		for _, w := range r.Works {
			for _, x := range w.row() {
				if !yield(x) {
					return
				}
			}
		}
	})
	add(foundColumn, foundWidth*len(r.Found), func(yield func(int64) bool) {
		for _, f := range r.Found {
			for _, x := range f.row() {
				if !yield(x) {
					return
				}
			}
		}
	})
	add(scoreColumn, scoreWidth*len(r.Scores), func(yield func(int64) bool) {
		for _, s := range r.Scores {
			for _, x := range s.row() {
				if !yield(x) {
					return
				}
			}
		}
	})
	if len(r.Found) > 0 {
		columns = append(columns,
			npy.Column{Name: lossSumColumn, Count: len(r.Found), Floats: func(yield func(float64) bool) {
				for _, f := range r.Found {
					if !yield(f.LossSum) {
						return
					}
				}
			}})
	}
	return columns
}

// fillRecorded reads the columns that recordedColumns wrote. Folders of older versions do not have these columns.
func (h *Head) fillRecorded(c *npy.Columns) error {
	r := h.Result
	rows := func(name string, width int, each func(next func() int64)) error {
		count := c.Count(name)
		if count%width != 0 {
			return fmt.Errorf("samples: column %s has %d numbers, but must have rows of %d", name, count, width)
		}
		if count == 0 {
			return nil
		}
		next := c.Ints(name, count)
		for range count / width {
			each(next)
		}
		return c.Err()
	}
	err := rows(workColumn, workWidth, func(next func() int64) {
		r.Works = append(r.Works, Work{
			WarmUp: next() == 0, Rank: int(next()), Samples: next(), StartNS: next(), EndNS: next(),
			EvaluatedNS: next(),
		})
	})
	if err == nil {
		err = rows(foundColumn, foundWidth, func(next func() int64) {
			r.Found = append(r.Found,
				Found{Epoch: int(next()), Rank: int(next()), Samples: next(), Correct: next(), Targets: next()})
		})
	}
	if err == nil {
		err = rows(scoreColumn, scoreWidth, func(next func() int64) {
			s := Score{Epoch: int(next()), Bin: int32(next())} // #nosec G115 -- as it was written
			s.Positives, s.Negatives = next(), next()
			r.Scores = append(r.Scores, s)
		})
	}
	if err != nil || len(r.Found) == 0 {
		return err
	}
	sum := c.Floats(lossSumColumn, len(r.Found))
	for i := range r.Found {
		r.Found[i].LossSum = sum()
	}
	return c.Err()
}

// checkRecorded returns an error if a trainer cannot have recorded these values.
func (r *Result) checkRecorded() error {
	const most = 1 << 61
	within := func(least int64, numbers ...int64) bool {
		return !slices.ContainsFunc(numbers, func(n int64) bool { return n < least || n > most })
	}
	for i, w := range r.Works {
		if !within(-most, w.Samples, w.StartNS, w.EndNS, w.EvaluatedNS) {
			return fmt.Errorf("samples: row %d of column %s has a number beyond 2^61", i, workColumn)
		}
	}
	for i, f := range r.Found {
		if !within(0, int64(f.Epoch)) || !within(1, f.Samples, f.Targets) || !within(-1, f.Correct) {
			return fmt.Errorf("samples: row %d of column %s has an impossible epoch or count", i, foundColumn)
		}
	}
	for i, s := range r.Scores {
		if !within(0, int64(s.Epoch), s.Positives, s.Negatives) {
			return fmt.Errorf("samples: row %d of column %s has a number below 0 or beyond 2^61", i, scoreColumn)
		}
	}
	return nil
}
