package serverlink

import (
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/shared/sharedtest"
)

// A trainer changes its rows while the server works on its push. After the
// answer, the server changes the answer's rows. Neither side sees the other's
// change, since each copied and checked the rows.
func TestSharedRowsStayAsTheyWereChecked(t *testing.T) {
	spec := commtest.SparseSpec(0, 10, 2, 4)
	for name, copied := range map[string]bool{"in place": false, "copied": true} {
		t.Run(name, func(t *testing.T) {
			var shown []int32
			ready := make(chan struct{})
			h := newStar(t, 1, []tensor.BucketSpec{spec}, linktest.Patience, func(a *comm.Arrival) error {
				<-ready
				sharedtest.Flip(shown)
				if err := spec.Check(a.Gradient); err != nil {
					t.Errorf("the server has %v", err)
				}
				return a.Answer(a.Gradient)
			})
			pushed := h.stores[0]
			if copied {
				pushed = h.links[0].client.copies
			}
			shown = sharedtest.Foreign(t, pushed).Shown
			close(ready)
			b := sharedtest.RowsOf(sharedtest.BucketOf(h.stores[0], 0, copied), 1, 5, 9)
			commtest.Must(t, h.links[0].PushPull(0, b).Wait())
			sharedtest.Flip(shown)
			if err := spec.Check(&b.Gradient); err != nil || len(b.Gradient.Rows) != 3 || b.Gradient.Rows[2] != 9 {
				t.Errorf("the trainer has %v with rows %v", err, b.Gradient.Rows)
			}
		})
	}
}
