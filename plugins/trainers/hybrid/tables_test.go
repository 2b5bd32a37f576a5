package hybrid

import (
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// localTable is a link to a table server in the same process.
type localTable struct {
	comm.TableLink
	server  sdk.TableServer
	store   *comm.LookupStore
	first   int // first of its columns among the joined columns
	width   int
	batches []sdk.Batch // lookup for batch n, modulo their number; the last one serves lookups for no batch
	promise *comm.Promise
	values  []float32
}

// localTables connects servers to a trainer of these batches.
func localTables(t testing.TB, batches []sdk.Batch, servers ...sdk.TableServer) *sdk.Tables {
	t.Helper()
	spec := comm.LookupSpec{}
	for _, s := range servers {
		spec.Tables = append(spec.Tables, s.Table())
	}
	for _, b := range batches {
		spec.Bags, spec.Indices = max(spec.Bags, len(b.Offsets)-1), max(spec.Indices, len(b.Indices))
	}
	store, err := comm.NewLookupStore("trainer0", spec)
	if err != nil {
		t.Fatal(err)
	}
	tables, first := &sdk.Tables{Store: store}, 0
	for i, s := range servers {
		width := spec.Tables[i].Width
		tables.Links = append(tables.Links, &localTable{
			server: s, store: store, first: first, width: width, batches: batches,
			promise: comm.NewPromise(nil), values: make([]float32, spec.Bags*width),
		})
		first += width
	}
	return tables
}

func (l *localTable) Lookup(batch int64) *comm.Future {
	call, columns := l.call(batch, false)
	err := l.server.Lookup(call)
	for i := range call.Bags() {
		copy(l.store.Values[i*columns+l.first:], call.Columns(i))
	}
	return l.completed(err)
}

func (l *localTable) Update(batch int64) *comm.Future {
	call, columns := l.call(batch, true)
	for i := range call.Bags() {
		copy(call.Columns(i), l.store.Gradients[i*columns+l.first:])
	}
	return l.completed(l.server.Update(call))
}

func (l *localTable) call(batch int64, update bool) (call *comm.TableCall, columns int) {
	b := &l.batches[len(l.batches)-1]
	if batch != comm.NoBatch {
		b = &l.batches[int(batch)%len(l.batches)]
	}
	return &comm.TableCall{Batch: batch, Update: update, Offsets: b.Offsets, Indices: b.Indices, Values: l.values,
		Stride: l.width, Width: l.width}, l.store.Columns()
}

func (l *localTable) completed(err error) *comm.Future {
	l.promise.Begin()
	l.promise.Complete(err)
	return l.promise.Future()
}
