package fabric

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
)

// drawBags draws bags of rows that all tables have. Some bags are empty, and
// some have repeated rows.
func drawBags(t *rapid.T, spec comm.LookupSpec) (offsets, indices []int64) {
	rows := spec.Tables[0].Rows
	for _, s := range spec.Tables {
		rows = min(rows, s.Rows)
	}
	offsets = []int64{0}
	for range rapid.IntRange(0, spec.Bags).Draw(t, "bags") {
		bag := rapid.SliceOfN(rapid.Int64Range(0, int64(rows-1)), 0, min(4, spec.Indices-len(indices))).Draw(t, "bag")
		indices = append(indices, bag...)
		offsets = append(offsets, int64(len(indices)))
	}
	return offsets, indices
}

func drawLookups(t *rapid.T) comm.LookupSpec {
	spec := comm.LookupSpec{Bags: rapid.IntRange(1, 12).Draw(t, "most bags"),
		Indices: rapid.IntRange(0, 30).Draw(t, "most indices")}
	for range rapid.IntRange(1, 3).Draw(t, "servers") {
		spec.Tables = append(spec.Tables,
			comm.TableSpec{Rows: rapid.IntRange(1, 40).Draw(t, "rows"), Width: rapid.IntRange(1, 40).Draw(t, "width")})
	}
	return spec
}

// A lookup and an update give the same result as plain loops over the same
// bags.
func TestTablesDoWhatLoopsDo(t *testing.T) {
	overTransports(t, func(t *testing.T, tr *Fabric) {
		rapid.Check(t, func(t *rapid.T) {
			spec := drawLookups(t)
			trainers := rapid.IntRange(1, 3).Draw(t, "trainers")
			l := linktest.NewLibrary(t, tr, byTurns(tr), trainers, spec, linktest.Patience,
				linktest.HandlesOf(linktest.NewLoopTables(spec)))
			tables, columns := linktest.NewLoopTables(spec), spec.Columns()
			for batch := range int64(4) {
				i := rapid.IntRange(0, trainers-1).Draw(t, "trainer")
				offsets, indices := drawBags(t, spec)
				store, bags := l.Stores[i], len(offsets)-1
				onlyLookup := rapid.Bool().Draw(t, "only a lookup")
				if onlyLookup && rapid.Bool().Draw(t, "for no batch") {
					batch = comm.NoBatch
				}
				commtest.Must(t, store.Ask(offsets, indices))
				commtest.Noise(7, store.Values)
				idle := slices.Clone(store.Values[bags*columns:])
				commtest.Must(t, l.Lookup(i, batch))
				want := make([]float32, bags*columns)
				for s, table := range tables {
					commtest.Must(t, table.Handle(callOver(spec, s, false, offsets, indices, want)))
				}
				if !slices.Equal(store.Values[:bags*columns], want) ||
					!slices.Equal(store.Values[bags*columns:], idle) {
					t.Fatalf("a lookup gave %v, want %v and what was there behind it", store.Values, want)
				}
				if onlyLookup {
					continue
				}
				for k := range store.Gradients {
					store.Gradients[k] = float32(k%5 - 2)
				}
				commtest.Must(t, l.Update(i, batch))
				for s, table := range tables {
					commtest.Must(t, table.Handle(callOver(spec, s, true, offsets, indices, store.Gradients)))
				}
			}
			l.Leave(t)
		})
	})
}

// callOver makes a call for table s on the joined columns.
func callOver(spec comm.LookupSpec, s int, update bool, offsets, indices []int64, joined []float32) *comm.TableCall {
	first := min(len(joined), spec.FirstColumn(s)) // without bags there are no columns
	return &comm.TableCall{
		Update: update, Offsets: offsets, Indices: indices,
		Values: joined[first:], Stride: spec.Columns(), Width: spec.Tables[s].Width,
	}
}

// If all trainers call at once, every update is applied exactly once, and each
// server gets one call at a time.
func TestTablesTakeAllTrainersAtOnce(t *testing.T) {
	const trainers, rounds = 3, 50
	spec := comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 5, Width: 3}, {Rows: 7, Width: 20}}, Bags: 4, Indices: 8}
	offsets, indices := []int64{0, 2, 2, 5, 6}, []int64{4, 1, 0, 0, 3, 4}
	overTransports(t, func(t *testing.T, tr *Fabric) {
		tables := linktest.NewLoopTables(spec)
		var got [2]comm.TableCall // the race detector reports concurrent calls here
		l := linktest.NewLibrary(t, tr, byTurns(tr), trainers, spec, linktest.Patience,
			func(s int) func(*comm.TableCall) error {
				return func(call *comm.TableCall) error {
					got[s] = *call
					if call.AtNS > comm.Now() || call.Trainer < 0 || call.Trainer >= trainers || call.Batch >= rounds {
						return fmt.Errorf("a strange call: %+v", call)
					}
					return tables[s].Handle(call)
				}
			})
		p := linktest.NewTogether(trainers, func(i int) error {
			store := l.Stores[i]
			for k := range store.Gradients {
				store.Gradients[k] = float32(i + 1)
			}
			for batch := range int64(rounds) {
				if err := errors.Join(store.Ask(offsets, indices), l.Lookup(i, batch), l.Update(i, batch)); err != nil {
					return err
				}
			}
			return nil
		})
		defer p.Close()
		p.Round(t)
		l.Leave(t)
		for s, table := range tables {
			for k, v := range linktest.NewLoopTable(spec.Tables[s]).Values {
				for _, row := range indices {
					if int(row) == k/table.Width {
						v += rounds * (1 + 2 + 3)
					}
				}
				if table.Values[k] != v {
					t.Fatalf("value %d of table %d is %g, want %g", k, s, table.Values[k], v)
				}
			}
		}
	})
}

func TestTableLinkRefusesMisuse(t *testing.T) {
	spec := comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 3, Width: 2}}, Bags: 2, Indices: 3}
	overTransports(t, func(t *testing.T, tr *Fabric) {
		arrived, proceed := make(chan struct{}, 10), make(chan struct{})
		l := linktest.NewLibrary(t, tr, byTurns(tr), 1, spec, linktest.Patience, func(int) func(*comm.TableCall) error {
			return func(*comm.TableCall) error { arrived <- struct{}{}; <-proceed; return nil }
		})
		link, store := l.Links[0][0], l.Stores[0]
		early := link.Update(0).Wait()
		first := link.Lookup(0)
		<-arrived
		misuse := map[string]error{
			"trainer0 started the update of batch 0 at server9, but an update follows the lookup of the same bags and batch, once": early,
			"started the lookup of batch 1 at server9 while the lookup of batch 0 is in flight":                                    link.Lookup(1).Wait(),
			"trainer0 asks for the next bags while 1 calls about its last bags are unanswered":                                     store.Ask([]int64{0}, nil),
		}
		close(proceed)
		commtest.Must(t, first.Wait())
		misuse["started the update of batch 7 at"] = link.Update(7).Wait()
		commtest.Must(t, store.Ask([]int64{0, 1}, []int64{2}))
		misuse["started the update of batch 0 at server9, but an update follows the lookup of the same bags"] =
			link.Update(0).Wait()
		misuse["asks for 3 bags with 0 indices, but has room for 2 with 3"] = store.Ask([]int64{0, 0, 0, 0}, nil)
		misuse["asks for 0 bags with 4 indices"] = store.Ask([]int64{0}, make([]int64, 4))
		misuse["asks for -1 bags"] = store.Ask(nil, nil)
		misuse["asks for bags whose offset 1 is 2; offsets start at 0, do not fall and end at the number of indices, 1"] =
			store.Ask(
				[]int64{0, 2},
				[]int64{0})
		misuse["whose offset 0 is 1"] = store.Ask([]int64{1, 1}, []int64{0})
		misuse["whose offset 2 is 0"] = store.Ask([]int64{0, 1, 0}, nil)
		commtest.Must(t, link.Lookup(1).Wait())
		commtest.Must(t, link.Update(1).Wait())
		misuse["started the update of batch 1 at"] = link.Update(1).Wait()
		commtest.Must(t, link.Close())
		commtest.Must(t, link.Close())
		closed := link.Lookup(2).Wait()
		if !errors.Is(closed, net.ErrClosed) {
			t.Errorf("a lookup on a closed link gave %v", closed)
		}
		for want, err := range misuse {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("misuse gave %v, want %q", err, want)
			}
		}
		commtest.Must(t, <-l.Served[0])
	})
}

// Values do not change while an update is in flight, and each future keeps its
// own end time.
func TestLookupStaysWhileItsUpdateIsInFlight(t *testing.T) {
	spec := comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 3, Width: 2}}, Bags: 1, Indices: 1}
	overTransports(t, func(t *testing.T, tr *Fabric) {
		table, proceed := linktest.NewLoopTable(spec.Tables[0]), make(chan struct{})
		l := linktest.NewLibrary(t, tr, byTurns(tr), 1, spec, linktest.Patience, func(int) func(*comm.TableCall) error {
			return func(call *comm.TableCall) error {
				if call.Update {
					<-proceed
				}
				return table.Handle(call)
			}
		})
		commtest.Must(t, l.Stores[0].Ask([]int64{0, 1}, []int64{2}))
		lookup := l.Links[0][0].Lookup(0)
		commtest.Must(t, lookup.Wait())
		update := l.Links[0][0].Update(0)
		commtest.Must(t, lookup.Wait())
		if got := l.Stores[0].Values; !slices.Equal(got, []float32{4 - 8, 5 - 8}) {
			t.Errorf("the values are %v", got)
		}
		close(proceed)
		commtest.Must(t, update.Wait())
		if lookup.EndNS() >= update.EndNS() {
			t.Errorf("the lookup ended at %d, its update at %d", lookup.EndNS(), update.EndNS())
		}
	})
}

// overTransports runs test once per transport.
func overTransports(t *testing.T, test func(t *testing.T, tr *Fabric)) {
	for _, tr := range fabrics {
		t.Run(tr.Name, func(t *testing.T) { test(t, tr) })
	}
}

// byTurns pretends that every second trainer, starting with the first, shares a
// host with all servers.
func byTurns(f *Fabric) func(trainer int) *wire.Network {
	return func(trainer int) *wire.Network { return f.Link(trainer%2 == 0).Network }
}
