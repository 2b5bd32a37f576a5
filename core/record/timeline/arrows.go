package timeline

import (
	"slices"

	"github.com/psbench/psbench/core/record/breakdown"
)

// exchange identifies joint work of several ranks. exchange is the reduction of a bucket in an iteration, or a call to
// the tables.
type exchange struct {
	part      part
	iteration int64
	bucket    int
	trainer   int // trainer that made the call
	server    int
}

// arrows connects spans that belong together.
func (d *drawing) arrows() (arrows []Arrow) {
	work := map[exchange][]*item{}
	servers := []int{}
	for _, p := range d.r.Processes {
		if p.Kind == "server" {
			servers = append(servers, p.Rank)
		}
	}
	for _, i := range d.items {
		if i.lane == Work && i.part != alone {
			key := exchange{i.part, i.Iteration, i.Bucket, i.trainer, i.rank}
			work[key] = append(work[key], i)
		}
	}
	var calls []call
	among := map[exchange][]*item{} // reductions without a server
	for _, i := range d.items {
		if i.lane == Work || i.part == alone {
			continue
		}
		if i.part != reduction {
			for _, s := range servers {
				calls = append(calls, d.call(i, work[exchange{i.part, i.Iteration, -1, i.rank, s}])...)
			}
			continue
		}
		server := breakdown.ServerOf(d.r, i.rank)
		if found := work[exchange{reduction, i.Iteration, i.Bucket, -1, server}]; len(found) > 0 {
			calls = append(calls, d.call(i, found)...)
			continue
		}
		key := exchange{part: reduction, iteration: i.Iteration, bucket: i.Bucket, trainer: d.set(i.rank)}
		among[key] = append(among[key], i)
	}
	for _, c := range d.sure(calls) {
		arrows = append(arrows, d.there(c), d.back(c))
	}
	for _, i := range d.items { // in order, so that the arrows are too
		key := exchange{part: reduction, iteration: i.Iteration, bucket: i.Bucket, trainer: d.set(i.rank)}
		if all := among[key]; i.part == reduction && len(all) > 0 {
			arrows = append(arrows, d.allReduce(all)...)
			delete(among, key)
		}
	}
	return arrows
}

// call pairs a wait of a trainer with the work that a server did for it.
type call struct{ from, work *item }

// call finds the work that overlaps the wait from. If clocks of hosts differ, call may find no work. An asynchronous
// server may have worked on a bucket several times. If so, call returns the work that began during the wait, unless
// several did.
func (d *drawing) call(from *item, work []*item) []call {
	var found []call
	for _, w := range work {
		if w.StartNS > from.EndNS || from.StartNS > w.EndNS || len(work) > 1 && w.StartNS < from.StartNS {
			continue
		}
		found = append(found, call{from, w})
	}
	if len(found) != 1 {
		return nil
	}
	return found
}

// sure removes work of an asynchronous server that may belong to either of two trainers.
func (d *drawing) sure(calls []call) []call {
	claims := map[*item]int{}
	for _, c := range calls {
		claims[c.work]++
	}
	return slices.DeleteFunc(calls, func(c call) bool { return claims[c.work] > 1 && d.apart(c.work.rank) })
}

// apart reports whether a server is asynchronous, so that it does not wait for the last gradient.
func (d *drawing) apart(server int) bool {
	for _, s := range d.r.Series {
		if s.Rank == server && s.Type == "parameter_server_straggler_metric" && s.Len() > 0 {
			return false
		}
	}
	return true
}

func (d *drawing) there(c call) Arrow {
	return Arrow{d.at(c.from, c.from.calledNS), d.at(c.work, min(max(c.from.calledNS, c.work.StartNS), c.work.EndNS))}
}

func (d *drawing) back(c call) Arrow {
	return Arrow{d.at(c.work, min(c.work.EndNS, c.from.EndNS)), d.at(c.from, c.from.EndNS)}
}

// allReduce draws arrows from the trainer whose hook called last to the ends on the other trainers. If the clocks of
// hosts are not accurate enough to find the last trainer, it draws no arrow.
func (d *drawing) allReduce(all []*item) (arrows []Arrow) {
	last := all[0]
	for _, i := range all {
		if i.calledNS > last.calledNS {
			last = i
		}
	}
	clock := d.r.ClockOf(last.rank)
	for _, i := range all {
		if apart := clock.ApartNS(d.r.ClockOf(i.rank)); apart > 0 && last.calledNS-i.calledNS <= apart {
			return nil
		}
	}
	for _, i := range all {
		if i != last && i.rank != last.rank && last.calledNS <= i.EndNS {
			arrows = append(arrows, Arrow{d.at(last, last.calledNS), d.at(i, i.EndNS)})
		}
	}
	return arrows
}

func (d *drawing) at(i *item, ns int64) Place {
	p := i.place
	p.AtNS = ns - d.startNS
	return p
}

// set returns the index of the set of connected trainers that contains rank. set returns -1 - rank if there is none.
func (d *drawing) set(rank int) int {
	if place := slices.IndexFunc(d.r.Connected,
		func(set []int) bool { return slices.Contains(set, rank) }); place >= 0 {
		return place
	}
	return -1 - rank
}
