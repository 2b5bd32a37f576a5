package comm

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/psbench/psbench/comm/internal/commtest"
)

func TestTableLinksLeaveNothing(t *testing.T) {
	spec := LookupSpec{Tables: []TableSpec{{Rows: 30, Width: 20}, {Rows: 30, Width: 7}}, Bags: 8, Indices: 20}
	overTransports(t, func(t *testing.T, tr *Fabric) {
		once := func() {
			t.Run("", func(t *testing.T) { // its clean-up closes everything
				l := newLibrary(t, tr, tr.Network, 2, spec, patience, handlesOf(newLoopTables(spec)))
				for i := range l.links {
					commtest.Must(t, l.lookup(i, 0))
					commtest.Must(t, l.update(i, 0))
				}
				l.leave(t)
			})
		}
		once()
		before := footprintNow(t)
		for range 20 {
			once()
		}
		const slack = 10 // of the runtime and the test itself
		var after footprint
		for range 50 { // what ends has a moment to do so
			after = footprintNow(t)
			if after.descriptors <= before.descriptors+slack && after.mappings <= before.mappings && after.goroutines <= before.goroutines+slack {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("20 libraries more took %+v, before them it was %+v", after, before)
	})
}

// steady is a trainer's round in tables of servers: ask, look up, update.
func steady(t commtest.TB, tr *Fabric, servers int) (round func() error) {
	spec := LookupSpec{Bags: 8, Indices: 40}
	for range servers {
		spec.Tables = append(spec.Tables, TableSpec{Rows: 300, Width: 256})
	}
	l := newLibrary(t, tr, tr.Network, 1, spec, patience, handlesOf(newLoopTables(spec)))
	var offsets, indices []int64
	for i := range 9 {
		offsets = append(offsets, int64(5*i))
	}
	for i := range 40 {
		indices = append(indices, int64(i*37%300))
	}
	batch := int64(0)
	return func() error {
		batch++
		if err := l.stores[0].Ask(offsets, indices); err != nil {
			return err
		}
		if err := l.lookup(0, batch); err != nil {
			return err
		}
		return l.update(0, batch)
	}
}

func TestTableSteadyStateDoesNotAllocate(t *testing.T) {
	for _, tr := range fabrics[:3] {
		round := steady(t, tr, 3)
		commtest.Must(t, round())
		var failed error
		if allocs := testing.AllocsPerRun(50, func() { failed = errors.Join(failed, round()) }); allocs != 0 {
			t.Errorf("a round over %s allocates %g times, want 0", tr.Name, allocs)
		}
		commtest.Must(t, failed)
	}
}

// BenchmarkTables looks up 8 bags of 5 rows and updates them.
func BenchmarkTables(b *testing.B) {
	for _, tr := range fabrics {
		for _, servers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/servers=%d", tr.Name, servers), func(b *testing.B) {
				round := steady(b, tr, servers)
				b.ReportAllocs()
				for b.Loop() {
					commtest.Must(b, round())
				}
			})
		}
	}
}
