package batches

import (
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/sdk"
)

// Memory holds a batch that arrived in a frame or was preprocessed. The host writes the batch
// through one memory mapping. The trainer sees the batch through a second, read-only mapping.
//
// A model that writes to its batch therefore ends the run, as a write to the data process's memory
// would. Without the read-only mapping, the model would silently train on changed data. The second
// mapping costs no system call per batch.
type Memory struct {
	sdk.Batch
	segment *shm.Segment // nil before the first batch
	seen    []byte       // the read-only mapping of the segment
}

// room returns space for a batch with these lengths and discards the previous batch. The kernel
// allocates pages only as they are filled, so false lengths cost nothing.
func (m *Memory) room(n Lengths) ([]byte, error) {
	size := int(max(1, n.Bytes()))
	if size > len(m.seen) {
		size = max(size, 2*len(m.seen))
		if err := m.Close(); err != nil {
			return nil, err
		}
		var err error
		if m.segment, err = shm.New("a batch", size, false); err != nil {
			return nil, err
		}
		if m.seen, err = m.segment.ReadOnly(); err != nil {
			return nil, err
		}
	}
	return m.segment.Bytes()[:n.Bytes()], nil
}

// Close releases the memory. The caller must not use the batch after Close.
func (m *Memory) Close() error {
	if m.segment == nil {
		return nil
	}
	err := m.segment.Close()
	m.Batch, m.segment, m.seen = sdk.Batch{}, nil, nil
	return err
}

// Read receives the batch that h announces. If the batch lies in shared memory, Read leaves it
// there instead of copying it.
func (m *Memory) Read(conn *call.Link, h *wire.Header) error {
	n, err := readLengths(conn, h)
	if err != nil {
		return err
	}
	if seen := conn.View(int(n.Bytes()), true); seen != nil {
		m.Batch, err = viewBatch(conn, seen, n, h)
		return err
	}
	at, err := m.room(n)
	if err != nil {
		return err
	}
	if err := conn.ReadFull(at); err != nil {
		return err
	}
	m.Batch, err = viewBatch(conn, m.seen, n, h)
	return err
}

// set makes the batch a copy of b.
func (m *Memory) set(b *sdk.Batch) error {
	n := LengthsOf(b)
	at, err := m.room(n)
	if err != nil {
		return err
	}
	for _, list := range [][]byte{
		tensor.Int64Bytes(b.Offsets), tensor.Int64Bytes(b.Indices), tensor.Int64Bytes(b.Targets),
		tensor.Float32Bytes(b.Features), tensor.Float32Bytes(b.FloatTargets),
	} {
		at = at[copy(at, list):]
	}
	m.Batch = viewLists(m.seen, n, b.TargetWidth)
	return nil
}

// readLengths reads the list lengths of the batch that h announces. The lists follow in the
// payload.
func readLengths(conn *call.Link, h *wire.Header) (Lengths, error) {
	n := (*Lengths)(&conn.Lengths)
	*n = Lengths{}
	lists := listsOf(int(h.Rows))
	left := int64(h.Payload) - 8*int64(lists) // #nosec G115 -- a payload is at most wire.MaxPayload
	if left < 0 {
		return *n, fmt.Errorf("%s sent a batch in %d bytes, fewer than its lengths take", conn.Peer(), h.Payload)
	}
	if err := conn.ReadFull(tensor.Int64Bytes(n[:lists])); err != nil {
		return *n, err
	}
	if !n.possible() || n.Bytes() != left {
		return *n, fmt.Errorf("%s sent a batch with lists of %d in %d bytes", conn.Peer(), *n, left)
	}
	return *n, nil
}

// viewBatch returns a batch whose lists lie one after the other in the memory at. n holds the
// lengths of the lists. h is the header that announced the batch.
func viewBatch(conn *call.Link, at []byte, n Lengths, h *wire.Header) (sdk.Batch, error) {
	b := viewLists(at, n, int(h.Rows))
	if err := Check(&b); err != nil {
		return b, fmt.Errorf("%s sent an inconsistent batch: %w", conn.Peer(), err)
	}
	return b, nil
}

func viewLists(at []byte, n Lengths, width int) (b sdk.Batch) {
	words := tensor.ViewInt64(at[:8*(n[0]+n[1]+n[2])])
	for k, list := range []*[]int64{&b.Offsets, &b.Indices, &b.Targets} {
		*list, words = words[:n[k]:n[k]], words[n[k]:]
	}
	floats := tensor.ViewFloat32(at[8*(n[0]+n[1]+n[2]) : n.Bytes()])
	b.Features, b.FloatTargets, b.TargetWidth = floats[:n[3]:n[3]], floats[n[3]:], width
	return b
}
