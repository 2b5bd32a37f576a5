package shared

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/internal/op"
	"github.com/psbench/psbench/comm/shared/layout"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/wire"
)

// port is the server's side of the push/pull links of its trainers through
// shared memory. It hands over what was pushed in the trainers' own memory.
type port struct {
	server
	trainers []*trainer
}

// trainer is what a port knows of one of its trainers.
type trainer struct {
	control *shm.Segment
	stores  [2]*comm.Store // by place
	bell    shm.Bell
	slots   []*arrival // in the order of the specs
	at      int        // the slot to look at next
	taken   uint32     // pushes that were handed over
}

func newPort(trainers wire.Links, specs []tensor.BucketSpec) (*port, error) {
	p := &port{server: server{Port: op.Port{Links: trainers}, awaits: "a push"}}
	p.some = p.anyPush
	if err := p.open(func(i int, conn *wire.Conn) error { return p.admit(i, conn, specs) }); err != nil {
		p.unmap()
		return nil, err
	}
	return p, nil
}

// admit takes the segments of a trainer and lays the slots over them.
func (p *port) admit(i int, conn *wire.Conn, specs []tensor.BucketSpec) (err error) {
	t := &trainer{}
	p.trainers = append(p.trainers, t)
	if t.control, err = conn.ReceiveSegment(layout.PushControlBytes(len(specs)), false); err != nil {
		return err
	}
	for place := range t.stores {
		s, err := layout.ReceiveStore(conn, specs, int32(place) == layout.InStore) // #nosec G115 -- one of two
		if err != nil {
			return err
		}
		t.stores[place] = s
	}
	t.bell = layout.BellOf(t.control)
	lines := layout.PushLines(t.control, len(specs))
	for k := range specs {
		a := &arrival{port: p, spec: &specs[k], line: &lines[k], bell: t.bell}
		for place, store := range t.stores {
			a.places[place] = store.Buckets[k]
		}
		a.Arrival = comm.Arrival{Bucket: specs[k].Index, Trainer: i, Chunks: 1, Slot: a}
		t.slots = append(t.slots, a)
	}
	return nil
}

// Store implements Port.
func (p *port) Store(trainer int) *comm.Store { return p.trainers[trainer].stores[layout.InStore] }

// Serve implements Port. handle runs on the calling goroutine.
func (p *port) Serve(handle func(*comm.Arrival) error) error {
	return p.serve(func() (int, error) { return p.take(handle) })
}

// Close implements Port.
func (p *port) Close() error {
	if p.shut() && p.allAnswered() {
		p.unmap()
	}
	return nil
}

func (p *port) allAnswered() bool {
	for _, t := range p.trainers {
		for _, a := range t.slots {
			if a.state.Load() != answered {
				return false
			}
		}
	}
	return true
}

func (p *port) unmap() {
	for _, t := range p.trainers {
		if t.control != nil {
			_ = t.control.Close()
		}
		for _, s := range t.stores {
			if s != nil {
				_ = s.Close()
			}
		}
	}
	if p.doorbell != nil {
		_ = p.doorbell.Close()
	}
}
