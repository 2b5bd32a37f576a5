package fabric

import (
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Over every fabric pushes arrive in segments, which can be passed to another
// process. The port's Stores contain these segments.
func TestPushesArriveInSegments(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 70_000), commtest.SparseSpec(1, 50, 4, 20)}
	for _, f := range fabrics {
		f = f.InSegments()
		t.Run(f.Name, func(t *testing.T) {
			near, far := linktest.Link(t, f.Network, "trainer0", "server9")
			store, err := f.NewStore("trainer0", specs)
			if err != nil {
				t.Fatal(err)
			}
			ports, served := make(chan comm.Port, 1), make(chan error, 1)
			go func() {
				port, err := f.NewPort(wire.Links{Self: "server9", Conns: []*wire.Conn{far},
					Timeout: linktest.Patience}, specs, false)
				ports <- port
				if err == nil {
					err = port.Serve(func(a *comm.Arrival) error {
						if !liesIn(port.Stores(0), a) {
							t.Errorf("a push of bucket %d lies in no segment", a.Bucket)
						}
						for i := range a.Gradient.Values {
							a.Gradient.Values[i] *= 2
						}
						return a.Answer(a.Gradient)
					})
				}
				served <- err
			}()
			link, err := f.NewServerLink(near, store, linktest.Patience)
			if err != nil {
				t.Fatal(err)
			}
			port := <-ports
			elsewhere := comm.NewStore(specs) // such as a hook's own memory
			for batch, from := range []*comm.Store{store, elsewhere, store} {
				for _, b := range from.Buckets {
					if b.Sparse {
						if err := b.Gradient.SetRows(2); err != nil {
							t.Fatal(err)
						}
						b.Gradient.Rows[0], b.Gradient.Rows[1] = 7, 40
					}
					b.Gradient.Values[len(b.Gradient.Values)-1] = 3
					if err := link.PushPull(int64(batch), b).Wait(); err != nil {
						t.Fatal(err)
					}
					if got := b.Gradient.Values[len(b.Gradient.Values)-1]; got != 6 {
						t.Errorf("batch %d, bucket %d: the answer is %v, want 6", batch, b.Index, got)
					}
				}
			}
			if err := link.Close(); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			_ = port.Close()
			for _, s := range append(port.Stores(0), store) {
				_ = s.Close()
			}
		})
	}
}

// liesIn reports whether a push's values and rows lie in a segment of one of
// the stores.
func liesIn(stores []*comm.Store, a *comm.Arrival) bool {
	for _, s := range stores {
		b := s.Buckets[a.Bucket]
		if s.Segment != nil && len(s.Segment.Bytes()) >= layout.PageBytes && b.Gradient.SameValues(a.Gradient) &&
			(!b.Sparse || cap(b.Shown) == b.Capacity) {
			return true
		}
	}
	return false
}
