package group

import (
	"errors"
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shared/lent"
	"github.com/psbench/psbench/internal/comm/wire"
)

// join makes the group's end of a device. If a Spanner provides no end, join
// fails. If any other device provides none, the group stages its buckets.
func (g *group) join(device comm.Device, specs []tensor.BucketSpec, buckets []*tensor.Bucket) (err error) {
	across, spans := device.(comm.Spanner)
	if !spans {
		g.lent.Join(device, specs, buckets)
		return nil
	}
	if g.lent.Device, err = across.Join(specs, buckets); err != nil {
		g.lent.Device = nil
		return fmt.Errorf("%s cannot join its group: %w", g.Self, err)
	}
	if g.lent.Spans, spans = g.lent.Device.(comm.SpanningEnd); !spans {
		return fmt.Errorf("%s cannot join its group: %s supports no group across devices", g.Self, across.Library())
	}
	g.lent.Library = across.Library()
	return nil
}

// lend decides whether the members' buckets stay in device memory, which
// requires all members. If all members lend, they exchange offers and import
// them; then they exchange the results of the imports. All members thus reach
// the same decision. With a Spanner, its library then joins the members.
func (g *group) lend(specs []tensor.BucketSpec) error {
	if err := g.settle(specs); err != nil || g.lent.Spans == nil {
		return err
	}
	if g.lent.Staged != "" {
		g.lent.Spans, g.lent.Library = nil, ""
		return g.lent.Close()
	}
	names := make([]string, len(g.members))
	for i, m := range g.members {
		names[i] = m.name
	}
	if err := g.lent.Spans.Span(names, g.position, g.Timeout); err != nil {
		return fmt.Errorf("%s cannot join its group: %w", g.Self, err)
	}
	return nil
}

func (g *group) settle(specs []tensor.BucketSpec) error {
	for _, m := range g.members {
		if m.begun.Mark.Load() == 0 {
			g.lent.Refuse("%s does not share its device memory", m.name)
			return nil
		}
	}
	own := ""
	err := g.swapOffers(len(specs), g.lent.Device.Offer(), func() string { return "" },
		func(i int, offer []byte, _ string) {
			values, err := g.lent.Device.Import(i, offer)
			if err == nil && g.lent.Spans != nil {
				values = g.ownValues() // in place of the peer's values, which no code reads
			}
			if err == nil && len(values) != len(specs) {
				err = fmt.Errorf("%d buckets are offered instead of %d", len(values), len(specs))
			}
			if err != nil {
				own = fmt.Sprintf("%s and %s: %v", g.Self, g.members[i].name, err)
				return
			}
			m := g.members[i]
			for k, spec := range specs {
				m.lent = append(m.lent, tensor.BucketIn(values[k], m.stores[0].Buckets[k].Shown, spec))
			}
		})
	if err != nil {
		return err
	}
	verdicts := make([]string, len(g.members))
	err = g.swapOffers(len(specs), nil, func() string { return own },
		func(i int, _ []byte, why string) { verdicts[i] = why })
	if err != nil {
		return err
	}
	verdicts[g.position] = own
	for _, why := range verdicts {
		if why != "" {
			g.lent.Refuse("%s", why)
			return g.lent.Close()
		}
	}
	return nil
}

// ownValues returns the values of this member's buckets on the device, with
// their full capacity.
func (g *group) ownValues() (values [][]float32) {
	for _, b := range g.own.stores[layout.InStore].Lent {
		values = append(values, b.Gradient.Values[:cap(b.Gradient.Values)])
	}
	return values
}

// swapOffers sends an offer, or the reason why there is none, to each other
// member and receives theirs, in the order of exchange.
func (g *group) swapOffers(buckets int, offer []byte, why func() string, take func(i int, offer []byte,
	why string)) error {
	for i, conn := range g.conns {
		if i == g.position {
			continue
		}
		if err := conn.Bound(g.Timeout); err != nil {
			return err
		}
		if err := g.swapOffer(i, conn, buckets, offer, why(), take); err != nil {
			return err
		}
		if err := conn.Lift(); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) swapOffer(i int, conn *wire.Conn, buckets int, offer []byte, why string, take func(i int, offer []byte,
	why string)) error {
	if g.position < i {
		if err := lent.SendOffer(conn, offer, why); err != nil {
			return err
		}
	}
	theirs, reason, err := lent.ReceiveOffer(conn, buckets)
	if err != nil {
		return err
	}
	take(i, theirs, reason)
	if g.position > i {
		return lent.SendOffer(conn, offer, why)
	}
	return nil
}

// give hands this member's bucket over on the device.
func (g *group) give(s *step) error {
	if s.kind != stepAllReduce && s.kind != stepAverage {
		return fmt.Errorf("%s cannot be carried out in the memory of a device: only sums can", stepNames[s.kind])
	}
	if t := s.op.Spec.Type; !t.Is32() {
		return fmt.Errorf("elements of type %s cannot be summed in the memory of a device: only %s can", t, tensor.Float32)
	}
	return g.lent.Device.Give(s.ordinal)
}

// sumOnDevice is sumSlices or sumRows for buckets in device memory, with the
// same order of additions and the same waits. A member waits until the others
// have started their work on the device; the device waits for the members'
// marks. Across devices each member sums its whole bucket: the device waits for
// the other members' devices.
func (g *group) sumOnDevice(s *step) error {
	if err := g.waitPosted(s); err != nil {
		return err
	}
	if s.op.Spec.Sparse {
		return g.sumRowsOnDevice(s)
	}
	if parts := g.partsOnDevice(s); len(parts[0]) > 0 {
		if err := g.lent.Device.Sum(s.ordinal, parts, s.kind == stepAverage); err != nil {
			return fmt.Errorf("%s, %s: %w", g.Self, s.op, err)
		}
	}
	return g.endTogether(s)
}

// partsOnDevice returns the parts of a dense bucket that this member sums.
func (g *group) partsOnDevice(s *step) [][]float32 {
	if g.lent.Spans != nil {
		g.parts[0] = s.values(g.own)
		return g.parts[:1]
	}
	from, to := slice(s.op.Spec.Words(), len(g.members), g.position)
	for i, m := range g.members {
		g.parts[i] = s.values(m)[from:to]
	}
	return g.parts
}

// sumRowsOnDevice makes each member sum all rows on the device, into memory of
// its own. Once no other member reads its rows, the member copies the sum into
// its bucket. With R rows in all gradients together and U rows in the union, a
// member reads and writes R + U rows; on one device this happens T times.
func (g *group) sumRowsOnDevice(s *step) error {
	if err := g.mergeRows(s); err != nil {
		return err
	}
	gradients := g.gradients
	for i, m := range g.members {
		gradients[i] = &s.of(m).Gradient
		if m == g.own {
			gradients[i] = s.op.Gradient
		}
	}
	if g.lent.Spans != nil {
		gradients = gradients[g.position : g.position+1]
	}
	if err := g.lent.Device.SumRows(s.ordinal, gradients, g.union, s.kind == stepAverage); err != nil {
		return fmt.Errorf("%s, %s: %w", g.Self, s.op, err)
	}
	g.own.halved.Store(s.number + 1)
	g.ring()
	if err := g.await(s, allHalved); err != nil {
		return err
	}
	out := &s.Bucket().Gradient
	if err := out.SetRows(len(g.union)); err != nil {
		return fmt.Errorf("%s, %s: %w", g.Self, s.op, err)
	}
	copy(out.Rows, g.union)
	if err := g.lent.Device.TakeRows(s.ordinal, out.Values); err != nil {
		return fmt.Errorf("%s, %s: %w", g.Self, s.op, err)
	}
	g.end(s)
	return nil
}

// Staged implements comm.DeviceLink.
func (g *group) Staged(int) string { return g.lent.Staged }

// Library implements comm.DeviceLink.
func (g *group) Library() string { return g.lent.Library }

// Release implements comm.DeviceLink.
func (g *group) Release(timeout time.Duration) error {
	err := g.lent.Close()
	if !g.lent.Look(func() { g.own.ended.Mark.Store(1) }) {
		return err
	}
	return errors.Join(err, g.lent.AwaitReturn(g.Self, timeout, g.Ended, func() (names []string) {
		for _, m := range g.members {
			if m != g.own && m.begun.Mark.Load() == 1 && m.ended.Mark.Load() == 0 && !m.left.Load() {
				names = append(names, m.name)
			}
		}
		return names
	}))
}
