package points

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
)

// hookPoints are those of a hook with links, or without.
func hookPoints(linked bool) []Point {
	list := slices.Concat(reductionPoints, []Point{hookMemory})
	if linked {
		list = append(list, hookEnds)
	}
	return list
}

var hookMemory = Point{
	Name:    "memory",
	Promise: "a bucket is read and written from its first element to its last",
	Unseen:  "a hook's process lays its buckets out itself, one behind the other",
	Ranks:   2,
	guarded: true,
	rank:    func(r *Rank) error { return r.reduceAll(0, ofRank) },
}

var hookEnds = Point{
	Name:    "ends",
	Promise: "where the other side of a link has gone, a reduction ends, and its future has the error",
	Unseen:  "a process that is gone ends the run, whatever the hook makes of it",
	alone: func(s *Subject) error {
		w := &world{subject: s, plan: s.buckets(false)}
		err := w.abandon()
		if end := within(s.timeout(), w.close); err == nil {
			err = end
		}
		return err
	},
}

// abandon has one of two ranks wait for the other, and for a server, that are gone.
func (w *world) abandon() error {
	if err := w.open(2); err != nil {
		return err
	}
	if err := w.reset(0); err != nil {
		return err
	}
	var leaving sync.WaitGroup
	defer leaving.Wait()
	leaving.Go(func() {
		time.Sleep(moment) // by then a hook that waits in Reduce does
		for _, p := range w.procs {
			if p != w.rankProcess(0) {
				p.Close()
			}
		}
	})
	r := w.ranks[0]
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
		if err := within(w.subject.timeout(), func() error { waited = f.Wait(); return nil }); err != nil {
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
