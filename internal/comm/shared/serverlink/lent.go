package serverlink

import (
	"errors"
	"fmt"
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shared/lent"
	"github.com/psbench/psbench/internal/comm/wire"
)

// show implements negotiator. show announces whether the link lends its buckets
// on a device.
func (l *link) show() { l.lent.Show(&layout.PushTerms(l.client.control).Lends) }

// agree implements negotiator. agree offers the trainer's buckets to the server
// and imports the server's offer.
func (l *link) agree() error {
	conn, end := l.client.conn, &l.lent
	if end.Device == nil {
		return nil
	}
	if layout.PushTerms(l.client.control).Borrows.Load() == 0 {
		end.Refuse("%s takes no buckets in device memory", conn.Peer())
		return nil
	}
	if err := lent.SendOffer(conn, end.Device.Offer(), ""); err != nil {
		return err
	}
	offer, why, err := lent.ReceiveOffer(conn, len(l.client.copies.Buckets))
	if err != nil {
		return err
	}
	if why == "" {
		if _, err := end.Device.Import(0, offer); err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		end.Refuse("%s and %s: %s", l.Self, conn.Peer(), why)
	}
	return nil
}

// Staged implements comm.DeviceLink.
func (l *link) Staged(int) string { return l.lent.Staged }

// Library implements comm.DeviceLink.
func (*link) Library() string { return "" }

// Release implements comm.DeviceLink.
func (l *link) Release(timeout time.Duration) error {
	return errors.Join(l.lent.Close(), l.lent.AwaitReturn(l.Self, timeout, l.Ended, func() []string {
		if terms := layout.PushTerms(l.client.control); terms.Borrows.Load() == 1 && terms.Returned.Load() == 0 {
			return []string{l.client.conn.Peer()}
		}
		return nil
	}))
}

// takesLent decides whether the port imports a trainer's lent buckets, and
// tells the trainer.
func (p *port) takesLent(t *trainer) {
	terms := layout.PushTerms(t.control)
	switch {
	case p.device == nil:
		t.lent.Staged = "the server takes no buckets in device memory"
	case terms.Lends.Load() == 0:
		t.lent.Staged = "it does not share its own"
	default:
		terms.Borrows.Store(1)
	}
}

// agree implements slots. The port imports the buckets that a trainer lends.
func (p *port) agree(i int, conn *wire.Conn) error {
	t := p.trainers[i]
	if layout.PushTerms(t.control).Borrows.Load() == 0 || t.lent.Staged != "" {
		return nil
	}
	offer, why, err := lent.ReceiveOffer(conn, len(p.specs))
	if err != nil {
		return err
	}
	t.lent.Staged = why
	if t.lent.Staged == "" {
		t.lent.Join(p.device, p.specs, nil)
	}
	if t.lent.Device == nil {
		return lent.SendOffer(conn, nil, t.lent.Staged)
	}
	values, err := t.lent.Device.Import(0, offer)
	if err == nil && len(values) != len(p.specs) {
		err = fmt.Errorf("%d buckets are offered instead of %d", len(values), len(p.specs))
	}
	if err != nil {
		t.lent.Staged = err.Error()
		return errors.Join(t.lent.Close(), lent.SendOffer(conn, nil, t.lent.Staged))
	}
	for k, a := range t.slots {
		a.lent = tensor.BucketIn(values[k], a.places[layout.InStore].Shown, *a.spec)
	}
	return lent.SendOffer(conn, t.lent.Device.Offer(), "")
}

// Staged implements comm.DeviceLink.
func (p *port) Staged(trainer int) string { return p.trainers[trainer].lent.Staged }

// Library implements comm.DeviceLink.
func (*port) Library() string { return "" }

// Release implements comm.DeviceLink. A server lends nothing, so Release does
// not wait.
func (p *port) Release(time.Duration) (err error) {
	for _, t := range p.trainers {
		err = errors.Join(err, t.lent.Close())
		t.lent.Look(func() { layout.PushTerms(t.control).Returned.Store(1) })
	}
	return err
}
