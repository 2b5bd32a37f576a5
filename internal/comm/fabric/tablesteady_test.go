package fabric

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
)

func TestTableLinksLeaveNothing(t *testing.T) {
	spec := comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 30, Width: 20}, {Rows: 30, Width: 7}}, Bags: 8, Indices: 20}
	overTransports(t, func(t *testing.T, tr *Fabric) {
		once := func() {
			t.Run("", func(t *testing.T) { // the subtest's clean-up closes everything
				l := linktest.NewLibrary(t, tr, byTurns(tr), 2, spec, linktest.Patience,
					linktest.HandlesOf(linktest.NewLoopTables(spec)))
				for i := range l.Links {
					commtest.Must(t, l.Lookup(i, 0))
					commtest.Must(t, l.Update(i, 0))
				}
				l.Leave(t)
			})
		}
		once()
		before := linktest.FootprintNow(t)
		for range 20 {
			once()
		}
		const slack = 10 // goroutines of the runtime and of the test itself
		var after linktest.Footprint
		for range 50 { // goroutines get a moment to end
			after = linktest.FootprintNow(t)
			if after.Descriptors <= before.Descriptors+slack && after.Mappings <= before.Mappings &&
				after.Goroutines <= before.Goroutines+slack {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("20 libraries more took %+v, before them it was %+v", after, before)
	})
}

// steady returns one trainer's round with some servers' tables: set the bags,
// look up, update.
func steady(t commtest.TB, tr *Fabric, servers int) (round func() error) {
	spec := comm.LookupSpec{Bags: 8, Indices: 40}
	for range servers {
		spec.Tables = append(spec.Tables, comm.TableSpec{Rows: 300, Width: 256})
	}
	l := linktest.NewLibrary(t, tr, byTurns(tr), 1, spec, linktest.Patience,
		linktest.HandlesOf(linktest.NewLoopTables(spec)))
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
		if err := l.Stores[0].Ask(offsets, indices); err != nil {
			return err
		}
		if err := l.Lookup(0, batch); err != nil {
			return err
		}
		return l.Update(0, batch)
	}
}

func TestTableSteadyStateDoesNotAllocate(t *testing.T) {
	for _, tr := range append(fabrics[:3:3], byHost) {
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
