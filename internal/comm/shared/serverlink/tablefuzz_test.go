package serverlink

import (
	"strings"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/wire"
)

// FuzzSharedTableCaller runs a trainer whose slot and store hold arbitrary
// data.
func FuzzSharedTableCaller(f *testing.F) {
	f.Add(int32(op.CallLookup), int64(2), int64(3), int64(0), tensor.Int64Bytes([]int64{0, 1, 3, 9, 0, 4}))
	f.Add(int32(op.CallLookup), int64(2), int64(3), int64(0), tensor.Int64Bytes([]int64{0, 4, 3, 9, 0, 4}))
	f.Add(int32(op.CallLookup), int64(1), int64(1), int64(0), tensor.Int64Bytes([]int64{0, 1, 10}))
	f.Add(int32(op.CallUpdate), int64(2), int64(3), int64(0), []byte(nil))
	f.Add(int32(7), int64(1)<<40, int64(-1), int64(0), []byte(nil))
	spec := comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 3, Width: 1}, {Rows: 10, Width: 2}}, Bags: 3, Indices: 4}
	f.Fuzz(func(t *testing.T, kind int32, bags, indices, batch int64, memory []byte) {
		store, err := comm.NewLookupStore("trainer0", spec)
		commtest.Must(t, err)
		line := &layout.CallLine{Kind: kind, Bags: bags, Indices: indices, Batch: batch}
		c := &tableCaller{
			Caller: op.NewCaller("server9", wire.NewConn(nil, "server9", "trainer0"), 0, &spec, 1), memory: store,
			line:    line,
			columns: [op.CallKinds][]float32{store.Values[1:], store.Gradients[1:]},
		}
		c.Stride = spec.Columns()
		offsets := make([]int64, len(memory)/8)
		copy(tensor.Int64Bytes(offsets), memory)
		filled := copy(store.BagOffsets[:min(spec.Bags+1, int(max(0, min(bags, 3)))+1)], offsets)
		copy(store.BagIndices[:spec.Indices], offsets[filled:])
		if err := c.validate(1); err != nil {
			if !strings.Contains(err.Error(), "trainer0") {
				t.Fatalf("a call ended with %v, which does not name trainer0", err)
			}
			return
		}
		if what := linktest.CheckCall(&c.TableCall, spec.Tables[1]); what != "" || c.Update {
			t.Fatalf("a port took %s", what)
		}
		commtest.Must(t, c.BeginUpdate(batch, 0))
		if err := c.BeginUpdate(batch, 0); err == nil {
			t.Fatal("a port took an update twice")
		}
	})
}
