package comm

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/psbench/psbench/comm/internal/commtest"
)

// library is trainers with their links to servers of tables.
type library struct {
	stores []*LookupStore
	links  [][]TableLink // by trainer, then server
	ports  []TablePort
	served []chan error

	near, far [][]*Conn // by trainer, then server; by server, then trainer
}

// tables makes links to servers of tables.
type tables interface {
	NewLookupStore(owner string, spec LookupSpec) (*LookupStore, error)
	NewTableLink(conn *Conn, store *LookupStore, table int, timeout time.Duration) (TableLink, error)
	NewTablePort(trainers Links, spec LookupSpec, table int) (TablePort, error)
}

func tableServerName(server int) string { return fmt.Sprintf("server%d", 9+server) }

// newLibrary joins trainers and servers; handle makes what server s does with calls.
func newLibrary(t commtest.TB, by tables, n *Network, trainers int, spec LookupSpec, timeout time.Duration, handle func(s int) func(*TableCall) error) *library {
	t.Helper()
	l := &library{links: make([][]TableLink, trainers), ports: make([]TablePort, len(spec.Tables))}
	t.Cleanup(l.close)
	near, far := make([][]*Conn, trainers), make([][]*Conn, len(spec.Tables))
	l.near, l.far = near, far
	for i := range trainers {
		store, err := by.NewLookupStore(name(i), spec)
		commtest.Must(t, err)
		l.stores = append(l.stores, store)
		l.links[i] = make([]TableLink, len(spec.Tables))
		for s := range spec.Tables {
			a, b := link(t, n, name(i), tableServerName(s))
			near[i], far[s] = append(near[i], a), append(far[s], b)
		}
	}
	var joined sync.WaitGroup
	linkErrs, portErrs := make([]error, trainers*len(spec.Tables)), make([]error, len(spec.Tables))
	for s := range spec.Tables {
		joined.Go(func() { l.ports[s], portErrs[s] = by.NewTablePort(Links{tableServerName(s), far[s], timeout}, spec, s) })
		for i := range trainers {
			joined.Go(func() {
				l.links[i][s], linkErrs[i*len(spec.Tables)+s] = by.NewTableLink(near[i][s], l.stores[i], s, timeout)
			})
		}
	}
	joined.Wait()
	commtest.Must(t, errors.Join(append(linkErrs, portErrs...)...))
	for s, port := range l.ports {
		served, serve := make(chan error, 1), handle(s)
		l.served = append(l.served, served)
		go func() { served <- port.Serve(serve) }()
	}
	return l
}

// close ends what there is.
func (l *library) close() {
	for _, links := range l.links {
		for _, link := range links {
			if link != nil {
				_ = link.Close()
			}
		}
	}
	for _, port := range l.ports {
		if port != nil {
			_ = port.Close()
		}
	}
	for _, store := range l.stores {
		_ = store.Close()
	}
}

// leave ends all links in order and expects the servers to take that for an end.
func (l *library) leave(t commtest.TB) {
	t.Helper()
	for _, links := range l.links {
		for _, link := range links {
			commtest.Must(t, link.Close())
		}
	}
	for _, served := range l.served {
		commtest.Must(t, <-served)
	}
}

// lookup asks all servers at once.
func (l *library) lookup(trainer int, batch int64) error {
	return l.call(trainer, func(link TableLink) *Future { return link.Lookup(batch) })
}

func (l *library) update(trainer int, batch int64) error {
	return l.call(trainer, func(link TableLink) *Future { return link.Update(batch) })
}

func (l *library) call(trainer int, start func(TableLink) *Future) error {
	var room [4]*Future
	futures := room[:0]
	for _, link := range l.links[trainer] {
		futures = append(futures, start(link))
	}
	for _, f := range futures {
		if err := f.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// loopTable is a table whose update adds the gradient, all in plain loops.
type loopTable struct {
	TableSpec
	values []float32
}

func newLoopTable(spec TableSpec) *loopTable {
	t := &loopTable{TableSpec: spec, values: make([]float32, spec.Rows*spec.Width)}
	for i := range t.values {
		t.values[i] = float32(i%17 - 8)
	}
	return t
}

func newLoopTables(spec LookupSpec) (tables []*loopTable) {
	for _, s := range spec.Tables {
		tables = append(tables, newLoopTable(s))
	}
	return tables
}

func (t *loopTable) row(row int64) []float32 { return t.values[int(row)*t.Width:][:t.Width] }

func (t *loopTable) handle(call *TableCall) error {
	for i := range call.Bags() {
		columns := call.Columns(i)
		if !call.Update {
			clear(columns)
		}
		for _, row := range call.Bag(i) {
			to, from := columns, t.row(row)
			if call.Update {
				to, from = from, to
			}
			for j := range to {
				to[j] += from[j]
			}
		}
	}
	return nil
}

func handlesOf(tables []*loopTable) func(s int) func(*TableCall) error {
	return func(s int) func(*TableCall) error { return tables[s].handle }
}

var faultSpec = LookupSpec{Tables: []TableSpec{{Rows: 300, Width: 2}, {Rows: 300, Width: 3}}, Bags: 6, Indices: 12}

func noCall(int) func(*TableCall) error { return func(*TableCall) error { return nil } }

// checkCall says what is wrong with a call that a port handed over.
func checkCall(call *TableCall, spec TableSpec) string {
	if call.Offsets[0] != 0 || call.Offsets[call.Bags()] != int64(len(call.Indices)) {
		return "offsets that do not cut the indices"
	}
	for i := range call.Bags() {
		for _, row := range call.Bag(i) { // panics if the offsets fall
			if row < 0 || int(row) >= spec.Rows {
				return "a row outside the table"
			}
		}
		if columns := call.Columns(i); len(columns) != spec.Width || cap(columns) != spec.Width {
			return "columns of another width"
		}
	}
	return ""
}
