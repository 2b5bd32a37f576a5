package serverlink

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/wire"
)

// The port checks all data in a trainer's slot and store before it relies on
// them.
func TestSharedTablePortRefusesLies(t *testing.T) {
	for want, lie := range map[string]func(s *comm.LookupStore, l *layout.CallLine){
		"asked server9 for 7 bags with 0 indices, but both agreed on at most 6 with 12": func(_ *comm.LookupStore,
			l *layout.CallLine) {
			l.Bags = 7
		},
		"for -1 bags":         func(_ *comm.LookupStore, l *layout.CallLine) { l.Bags = -1 },
		"with 13 indices":     func(_ *comm.LookupStore, l *layout.CallLine) { l.Indices = 13 },
		"with -5 indices":     func(_ *comm.LookupStore, l *layout.CallLine) { l.Indices = -5 },
		"whose offset 0 is 1": func(s *comm.LookupStore, _ *layout.CallLine) { s.BagOffsets[0] = 1 },
		"whose offset 2 is 1; offsets start at 0, do not fall": func(s *comm.LookupStore, l *layout.CallLine) {
			l.Bags, l.Indices = 3, 3
			copy(s.BagOffsets[:4], []int64{0, 2, 1, 3})
		},
		"whose offset 1 is 2; offsets start at 0, do not fall and end at the number of indices, 3": func(s *comm.LookupStore, l *layout.CallLine) {
			l.Bags, l.Indices = 1, 3
			s.BagOffsets[:2][1] = 2
		},
		"row 300 at bag 0, position 1": func(s *comm.LookupStore, l *layout.CallLine) {
			l.Bags, l.Indices = 1, 2
			s.BagOffsets[:2][1] = 2
			s.BagIndices[:2][1] = 300
		},
		"sent server9 the update of batch 0, but an update follows the lookup of the same batch, once": func(_ *comm.LookupStore, l *layout.CallLine) { l.Kind = int32(op.CallUpdate) },
		"posted a call of kind 2 to server9, which does not exist":                                     func(_ *comm.LookupStore, l *layout.CallLine) { l.Kind = 2 },
		"posted a call of kind -1":       func(_ *comm.LookupStore, l *layout.CallLine) { l.Kind = -1 },
		"to server9 where call 1 is due": func(_ *comm.LookupStore, l *layout.CallLine) { l.Posted.Add(4) },
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			l := linktest.NewLibrary(t, tables{}, linktest.Over(wire.Unix), 1, linktest.FaultSpec, linktest.Patience,
				linktest.NoCall)
			link := l.Links[0][0].(*tableLink)
			lie(l.Stores[0], link.line)
			link.line.Posted.Add(1)
			link.client.server.Ring()
			if err := <-l.Served[0]; err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "trainer0") {
				t.Errorf("%q: serve gave %v", want, err)
			}
		})
	}
}

// A call without a waiter ends at the time of the server's answer and does not
// block the next call.
func TestSharedCallKeepsItsTime(t *testing.T) {
	spec := comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 3, Width: 2}}, Bags: 1, Indices: 1}
	l := linktest.NewLibrary(t, tables{}, linktest.Over(wire.Unix), 1, spec, linktest.Patience,
		linktest.HandlesOf(linktest.NewLoopTables(spec)))
	link := l.Links[0][0].(*tableLink)
	first := link.Lookup(0)
	for link.line.Answered.Load() != 1 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	looked := comm.Now()
	second := link.Update(0)
	commtest.Must(t, first.Wait())
	commtest.Must(t, second.Wait())
	if late := looked - first.EndNS(); late < int64(10*time.Millisecond) {
		t.Errorf("the lookup ended %d ns before somebody looked, want the time of the answer", late)
	}
}

// tables makes table links for linktest.
type tables struct{}

func (tables) NewLookupStore(owner string, spec comm.LookupSpec) (*comm.LookupStore, error) {
	return layout.NewLookupStore(owner, spec)
}

func (tables) NewTableLink(
	conn *wire.Conn, store *comm.LookupStore, table int, timeout time.Duration,
) (comm.TableLink, error) {
	return NewTableLink(conn, store, table, timeout)
}

func (tables) NewTablePort(trainers wire.Links, spec comm.LookupSpec, table int) (comm.TablePort, error) {
	return NewTablePort(trainers, spec, table)
}
