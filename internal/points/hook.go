package points

import (
	"errors"
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/points/harness"
)

// hookPoints are the points of a hook, with or without links.
func hookPoints(linked bool) []harness.Point {
	list := slices.Concat(reductionPoints, []harness.Point{hookMemory})
	if linked {
		list = append(list, hookEnds)
	}
	return list
}

var hookMemory = harness.Point{
	Name:    "memory",
	Promise: "a bucket is read and written from its first element to its last",
	Unseen:  "a hook's process lays its buckets out itself, one behind the other",
	Ranks:   2,
	Guarded: true,
	OnRank:  func(r *harness.Rank) error { return reduceAll(r, 0, ofRank) },
}

var hookEnds = harness.Point{
	Name:    "ends",
	Promise: "if the other side of a link is gone, a reduction ends and its future has the error",
	Unseen:  "a process that is gone ends the run, whatever the hook makes of it",
	Alone:   func(s *harness.Subject) error { return harness.Abandon(s, reductionsEnd) },
}

// reductionsEnd reduces on a rank whose peers leave.
func reductionsEnd(r *harness.Rank) error {
	var futures []*comm.Future
	for _, b := range r.Buckets {
		if err := ofRank(r, b, 0); err != nil {
			return err
		}
		futures = append(futures, r.Hook.Reduce(batchState(0), b))
	}
	failed := 0
	for i, f := range futures {
		var waited error
		err := harness.Within(r.Subject.Patience(), func() error { waited = f.Wait(); return nil })
		if err != nil {
			return fmt.Errorf("bucket %d, whose other ranks are gone: %w", i, err)
		}
		if waited != nil {
			failed++
		}
	}
	if failed == 0 {
		return errors.New("all reductions end without an error, though the other rank took no part in them and is gone")
	}
	return nil
}
