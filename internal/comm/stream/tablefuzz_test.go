package stream

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
)

func FuzzTablePort(f *testing.F) {
	spec := comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 10, Width: 1}, {Rows: 10, Width: 2}}, Bags: 3, Indices: 4}
	bye := linktest.Frame(wire.Header{Op: wire.OpBye})
	lookup := linktest.Frame(wire.Header{Op: wire.OpLookup, Batch: 1, Arg: 2, Arg2: 3},
		tensor.Int64Bytes([]int64{0, 1, 3}), tensor.Int64Bytes([]int64{9, 0, 4}))
	update := linktest.Frame(wire.Header{Op: wire.OpUpdate, Batch: 1}, fuzzDense)
	linktest.Bending(f, []func(*wire.Header) []byte{lookup, update, lookup, lookup, bye},
		func(t *testing.T, stream []byte) {
			defer linktest.InTime("a port")()
			far, near := linktest.SocketPair(t, "server9", "trainer0")
			other, quiet := linktest.SocketPair(t, "server9", "trainer1")
			p, err := newTablePort(wire.Links{Self: "server9", Conns: []*wire.Conn{far, other},
				Timeout: linktest.Patience},
				spec, 1)
			commtest.Must(t, err)
			var peers sync.WaitGroup
			peers.Go(func() { linktest.Speak(near, stream) })
			peers.Go(func() { linktest.Speak(quiet, linktest.Frames(bye)) })
			var wrong atomic.Value
			looked := false
			err = p.Serve(func(call *comm.TableCall) error {
				if what := linktest.CheckCall(call, spec.Tables[1]); what != "" || call.Trainer != 0 ||
					call.Update && !looked {
					wrong.Store(what + " in a call that should not be")
				}
				looked = !call.Update
				return nil
			})
			commtest.Must(t, p.Close())
			peers.Wait()
			if w := wrong.Load(); w != nil {
				t.Fatal(w)
			}
			if err != nil && !strings.Contains(err.Error(), "trainer0") {
				t.Fatalf("a port ended with %v, which does not name trainer0", err)
			}
			if err == nil && !bytes.Contains(stream, linktest.Frames(bye)[:7]) { // magic, version and operation
				t.Fatal("a port took a stream without a goodbye for an orderly one")
			}
		})
}

func FuzzTableLink(f *testing.F) {
	spec := comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 10, Width: 1}, {Rows: 10, Width: 2}}, Bags: 3, Indices: 4}
	lookup, update := linktest.Frame(wire.Header{Op: wire.OpLookup},
		fuzzDense), linktest.Frame(wire.Header{Op: wire.OpUpdate})
	linktest.Bending(f, []func(*wire.Header) []byte{lookup, update}, func(t *testing.T, stream []byte) {
		defer linktest.InTime("a link")()
		near, far := linktest.SocketPair(t, "trainer0", "server9")
		store, err := comm.NewLookupStore("trainer0", spec)
		commtest.Must(t, err)
		for i := range store.Values {
			store.Values[i] = 7
		}
		l := newTableLink(near, store, 1, linktest.Patience)
		commtest.Must(t, store.Ask([]int64{0, 1, 2}, []int64{3, 4}))
		var peer sync.WaitGroup
		lookup := l.Lookup(0) // first: an answer without a call would end the link
		peer.Go(func() { linktest.Speak(far, stream) })
		futures := []*comm.Future{lookup}
		if lookup.Wait() == nil {
			futures = append(futures, l.Update(0))
		}
		for _, future := range futures {
			if err := future.Wait(); err != nil && !strings.Contains(err.Error(), "server9") {
				t.Fatalf("a call ended with %v, which does not name server9", err)
			}
		}
		for i, v := range store.Values {
			if inside := i%3 != 0 && i < 6; !inside && v != 7 {
				t.Fatalf("value %d, which was not asked for, became %g", i, v)
			}
		}
		_ = l.Close()
		peer.Wait()
	})
}
