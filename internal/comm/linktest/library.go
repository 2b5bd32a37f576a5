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

// Library is a set of trainers and table servers, with the links between them.
type Library struct {
	Stores []*comm.LookupStore
	Links  [][]comm.TableLink // by trainer, then server
	Ports  []comm.TablePort
	Served []chan error

	Near, Far [][]*wire.Conn // by trainer, then server; by server, then trainer
}

// tables makes links between trainers and table servers.
type tables interface {
	NewLookupStore(owner string, spec comm.LookupSpec) (*comm.LookupStore, error)
	NewTableLink(conn *wire.Conn, store *comm.LookupStore, table int, timeout time.Duration) (comm.TableLink, error)
	NewTablePort(trainers wire.Links, spec comm.LookupSpec, table int) (comm.TablePort, error)
}

func tableServerName(server int) string { return fmt.Sprintf("server%d", 9+server) }

// Over puts all trainers on the same network.
func Over(n *wire.Network) func(trainer int) *wire.Network {
	return func(int) *wire.Network { return n }
}

// NewLibrary joins trainers and servers. n(trainer) is the network of a
// trainer's links. handle(s) makes server s's handler.
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

// close closes all links, ports and stores.
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

// Leave closes all links in order and requires that the servers see an orderly
// end.
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

// Lookup sends a trainer's lookup to all servers at once.
func (l *Library) Lookup(trainer int, batch int64) error {
	return l.call(trainer, func(link comm.TableLink) *comm.Future { return link.Lookup(batch) })
}

// Update sends the update for a trainer's last lookup to all servers at once.
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

// LoopTable is a table whose lookup and update are plain loops. An update adds
// the gradient.
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

// NewLoopTables makes the tables of a spec.
func NewLoopTables(spec comm.LookupSpec) (tables []*LoopTable) {
	for _, s := range spec.Tables {
		tables = append(tables, NewLoopTable(s))
	}
	return tables
}

func (t *LoopTable) row(row int64) []float32 { return t.Values[int(row)*t.Width:][:t.Width] }

// Handle is the handler for comm.TablePort.Serve.
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

// HandlesOf assigns one table to each server.
func HandlesOf(tables []*LoopTable) func(s int) func(*comm.TableCall) error {
	return func(s int) func(*comm.TableCall) error { return tables[s].Handle }
}

// FaultSpec is the lookup spec that tests of faults use.
var FaultSpec = comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 300, Width: 2}, {Rows: 300, Width: 3}}, Bags: 6,
	Indices: 12}

// NoCall is a handler that ignores calls.
func NoCall(int) func(*comm.TableCall) error { return func(*comm.TableCall) error { return nil } }

// CheckCall describes what is wrong with a call from a port, or returns "".
func CheckCall(call *comm.TableCall, spec comm.TableSpec) string {
	if call.Offsets[0] != 0 || call.Offsets[call.Bags()] != int64(len(call.Indices)) {
		return "offsets that do not cut the indices"
	}
	for i := range call.Bags() {
		for _, row := range call.Bag(i) { // panics if the offsets decrease
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
