package linktest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Library is trainers with their links to servers of tables.
type Library struct {
	Stores []*comm.LookupStore
	Links  [][]comm.TableLink // by trainer, then server
	Ports  []comm.TablePort
	Served []chan error

	Near, Far [][]*wire.Conn // by trainer, then server; by server, then trainer
}

// tables makes links to servers of tables.
type tables interface {
	NewLookupStore(owner string, spec comm.LookupSpec) (*comm.LookupStore, error)
	NewTableLink(conn *wire.Conn, store *comm.LookupStore, table int, timeout time.Duration) (comm.TableLink, error)
	NewTablePort(trainers wire.Links, spec comm.LookupSpec, table int) (comm.TablePort, error)
}

func tableServerName(server int) string { return fmt.Sprintf("server%d", 9+server) }

// Over joins all trainers over one network.
func Over(n *wire.Network) func(trainer int) *wire.Network {
	return func(int) *wire.Network { return n }
}

// NewLibrary joins trainers and servers, each trainer over its network; handle makes what server s does with calls.
func NewLibrary(t commtest.TB, by tables, n func(trainer int) *wire.Network, trainers int, spec comm.LookupSpec,
	timeout time.Duration, handle func(s int) func(*comm.TableCall) error) *Library {
	t.Helper()
	l := &Library{Links: make([][]comm.TableLink, trainers), Ports: make([]comm.TablePort, len(spec.Tables))}
	t.Cleanup(l.close)
	near, far := make([][]*wire.Conn, trainers), make([][]*wire.Conn, len(spec.Tables))
	l.Near, l.Far = near, far
	for i := range trainers {
		store, err := by.NewLookupStore(Name(i), spec)
		commtest.Must(t, err)
		l.Stores = append(l.Stores, store)
		l.Links[i] = make([]comm.TableLink, len(spec.Tables))
		for s := range spec.Tables {
			a, b := Link(t, n(i), Name(i), tableServerName(s))
			near[i], far[s] = append(near[i], a), append(far[s], b)
		}
	}
	var joined sync.WaitGroup
	linkErrs, portErrs := make([]error, trainers*len(spec.Tables)), make([]error, len(spec.Tables))
	for s := range spec.Tables {
		joined.Go(func() {
			l.Ports[s], portErrs[s] = by.NewTablePort(wire.Links{Self: tableServerName(s), Conns: far[s],
				Timeout: timeout}, spec, s)
		})
		for i := range trainers {
			joined.Go(func() {
				l.Links[i][s], linkErrs[i*len(spec.Tables)+s] = by.NewTableLink(near[i][s], l.Stores[i], s, timeout)
			})
		}
	}
	joined.Wait()
	commtest.Must(t, errors.Join(append(linkErrs, portErrs...)...))
	for s, port := range l.Ports {
		served, serve := make(chan error, 1), handle(s)
		l.Served = append(l.Served, served)
		go func() { served <- port.Serve(serve) }()
	}
	return l
}

// close ends what there is.
func (l *Library) close() {
	for _, links := range l.Links {
		for _, link := range links {
			if link != nil {
				_ = link.Close()
			}
		}
	}
	for _, port := range l.Ports {
		if port != nil {
			_ = port.Close()
		}
	}
	for _, store := range l.Stores {
		_ = store.Close()
	}
}

// Leave ends all links in order and expects the servers to take that for an end.
func (l *Library) Leave(t commtest.TB) {
	t.Helper()
	for _, links := range l.Links {
		for _, link := range links {
			commtest.Must(t, link.Close())
		}
	}
	for _, served := range l.Served {
		commtest.Must(t, <-served)
	}
}

// Lookup asks all servers at once.
func (l *Library) Lookup(trainer int, batch int64) error {
	return l.call(trainer, func(link comm.TableLink) *comm.Future { return link.Lookup(batch) })
}

// Update sends all servers at once what the last lookup is to be updated by.
func (l *Library) Update(trainer int, batch int64) error {
	return l.call(trainer, func(link comm.TableLink) *comm.Future { return link.Update(batch) })
}

func (l *Library) call(trainer int, start func(comm.TableLink) *comm.Future) error {
	var room [4]*comm.Future
	futures := room[:0]
	for _, link := range l.Links[trainer] {
		futures = append(futures, start(link))
	}
	for _, f := range futures {
		if err := f.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// LoopTable is a table whose update adds the gradient, all in plain loops.
type LoopTable struct {
	comm.TableSpec
	Values []float32
}

// NewLoopTable makes a table of small numbers.
func NewLoopTable(spec comm.TableSpec) *LoopTable {
	t := &LoopTable{TableSpec: spec, Values: make([]float32, spec.Rows*spec.Width)}
	for i := range t.Values {
		t.Values[i] = float32(i%17 - 8)
	}
	return t
}

// NewLoopTables makes those of a spec.
func NewLoopTables(spec comm.LookupSpec) (tables []*LoopTable) {
	for _, s := range spec.Tables {
		tables = append(tables, NewLoopTable(s))
	}
	return tables
}

func (t *LoopTable) row(row int64) []float32 { return t.Values[int(row)*t.Width:][:t.Width] }

// Handle takes a call, as a port hands it over.
func (t *LoopTable) Handle(call *comm.TableCall) error {
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

// HandlesOf has each server hold one of the tables.
func HandlesOf(tables []*LoopTable) func(s int) func(*comm.TableCall) error {
	return func(s int) func(*comm.TableCall) error { return tables[s].Handle }
}

// FaultSpec is what tests of faults look up.
var FaultSpec = comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 300, Width: 2}, {Rows: 300, Width: 3}}, Bags: 6,
	Indices: 12}

// NoCall has servers do nothing with calls.
func NoCall(int) func(*comm.TableCall) error { return func(*comm.TableCall) error { return nil } }

// CheckCall says what is wrong with a call that a port handed over.
func CheckCall(call *comm.TableCall, spec comm.TableSpec) string {
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
