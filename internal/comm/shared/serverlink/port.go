package serverlink

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shared/lent"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// port is the server's side of its trainers' push/pull links through shared
// memory. port hands over pushes in the trainers' own memory.
type port struct {
	server
	trainers []*trainer
	inPieces bool // hands over large gradients in the trainers' ordinary memory in pieces
	inChunks bool // hands over dense gradients chunk by chunk
	device   comm.Device
	specs    []tensor.BucketSpec
}

// trainer is the port's state for one of its trainers.
type trainer struct {
	control *shm.Segment
	stores  []*comm.Store // by place
	bell    shm.Bell
	slots   []*arrival // in the order of the specs
	at      int        // index of the next slot to check
	pushes  uint32     // number of pushes handed over
	lent    lent.End   // the trainer's buckets on the device
}

// Chunking says how a port splits dense gradients.
type Chunking struct {
	InPieces bool // large gradients in the trainers' ordinary memory, piece by piece
	InChunks bool // all dense gradients, chunk by chunk
}

// NewPort makes a port for the trainers that have a connection. The port hands
// over gradients in the memory where they lie, including device memory if both
// sides share the device. The port owns the connections, also after an error.
func NewPort(trainers wire.Links, specs []tensor.BucketSpec, by Chunking, device comm.Device) (comm.Port, error) {
	return newPort(trainers, specs, by.InPieces, by.InChunks, device)
}

func newPort(
	trainers wire.Links, specs []tensor.BucketSpec, inPieces, inChunks bool, device comm.Device,
) (*port, error) {
	p := &port{inPieces: inPieces, inChunks: inChunks, device: device, specs: specs}
	p.server = server{Port: op.Port{Links: trainers}, slots: p, awaits: "a push"}
	for range trainers.Conns {
		p.trainers = append(p.trainers, &trainer{})
	}
	if err := p.open(); err != nil {
		for _, t := range p.trainers {
			_ = t.lent.Close() // the first error is the one to return
		}
		p.unmap()
		return nil, err
	}
	return p, nil
}

// admit implements slots. admit receives a trainer's segments and sets up its
// slots.
func (p *port) admit(i int, conn *wire.Conn) (err error) {
	t, specs := p.trainers[i], p.specs
	if t.control, err = conn.ReceiveSegment(layout.PushControlBytes(len(specs)), false); err != nil {
		return err
	}
	for _, place := range []int32{layout.InStore, layout.InCopies} {
		s, err := layout.ReceiveStore(conn, specs, place == layout.InStore)
		if err != nil {
			return err
		}
		t.stores = append(t.stores, s)
	}
	t.bell = layout.BellOf(t.control)
	if p.inPieces {
		layout.PushTerms(t.control).TakesPieces.Store(layout.PieceSlots)
	}
	p.takesLent(t)
	lines, pieceLines := layout.PushLines(t.control, len(specs)), layout.PieceLines(t.control, len(specs))
	for k := range specs {
		a := &arrival{port: p, spec: &specs[k], line: &lines[k], bell: t.bell}
		for place, store := range t.stores {
			a.places[place] = store.Buckets[k]
		}
		a.Arrival = comm.Arrival{Bucket: specs[k].Index, Trainer: i, Chunks: 1, InPlace: true, Answer: a.answer}
		if p.inPieces && layout.GoesInPieces(a.spec) {
			a.pieces = newPieces(a, &pieceLines[k])
		}
		if p.inChunks && !a.spec.Sparse {
			a.chunks = newChunks(a)
		}
		t.slots = append(t.slots, a)
	}
	return nil
}

// Stores implements comm.Port.
func (p *port) Stores(trainer int) []*comm.Store { return p.trainers[trainer].stores }

// Serve implements comm.Port. handle runs on the calling goroutine.
func (p *port) Serve(handle func(*comm.Arrival) error) error {
	return p.serve(func() (int, error) { return p.dispatch(handle) })
}

// Close implements comm.Port.
func (p *port) Close() error {
	for _, t := range p.trainers {
		t.lent.Over()
	}
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
			_ = s.Close()
		}
	}
	if p.doorbell != nil {
		_ = p.doorbell.Close()
	}
}
