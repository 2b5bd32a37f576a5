package sdk

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/shm"
)

// A share of batches travels from the data process to a trainer in one of two
// forms. On Shm a frame says how large it is, and a segment that nobody can map for
// writing any more holds it. Elsewhere one frame says how many batches follow, then comes
// one frame per batch: offsets, indices, targets.
const (
	opShare = comm.OpUser + iota
	opBatch
	opShareSegment
)

func (st *station) sendShare(conn *comm.Conn, share []Batch) error {
	if err := bound(conn, st.timeout); err != nil {
		return err
	}
	if st.transport() == comm.Shm {
		return sendShareSegment(conn, share)
	}
	return sendBatches(&callLink{Conn: conn}, share)
}

// receiveShare is the other side of sendShare. On Shm the batches are views of
// memory that the station owns and nobody may write.
func (st *station) receiveShare(conn *comm.Conn) ([]Batch, error) {
	if err := bound(conn, st.timeout); err != nil {
		return nil, err
	}
	if st.transport() == comm.Shm {
		return st.receiveShareSegment(conn)
	}
	return receiveBatches(&callLink{Conn: conn})
}

func sendShareSegment(conn *comm.Conn, share []Batch) (err error) {
	segment, err := shm.New("the batches of "+conn.Peer(), 8*shareWords(share), true)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := segment.Close(); err == nil {
			err = cerr
		}
	}()
	writeShare(comm.ViewInt64(segment.Bytes()), share)
	if err := segment.SealWriting(); err != nil {
		return err
	}
	return sendSegment(conn, opShareSegment, segment)
}

func (st *station) receiveShareSegment(conn *comm.Conn) ([]Batch, error) {
	segment, err := receiveSegment(conn, opShareSegment, true)
	if err != nil {
		return nil, err
	}
	st.own(segment)
	share, err := viewShare(comm.ViewInt64(segment.Bytes()))
	if err != nil {
		return nil, fmt.Errorf("%s sent batches that do not hold together: %w", conn.Peer(), err)
	}
	return share, nil
}

// A share in a segment consists of int64: how many batches there are, then of each
// batch how many samples and indices it has, then of each batch its offsets, indices
// and targets.

// shareWords is how many int64 a share takes.
func shareWords(share []Batch) int {
	n := 1
	for i := range share {
		n += 2 + len(share[i].Offsets) + len(share[i].Indices) + len(share[i].Targets)
	}
	return n
}

func writeShare(words []int64, share []Batch) {
	words[0] = int64(len(share))
	sizes, rest := words[1:1+2*len(share)], words[1+2*len(share):]
	for i := range share {
		b := &share[i]
		sizes[2*i], sizes[2*i+1] = int64(b.Size()), int64(len(b.Indices))
		for _, part := range [][]int64{b.Offsets, b.Indices, b.Targets} {
			rest = rest[copy(rest, part):]
		}
	}
}

// viewShare finds the batches in words, which it does not trust.
func viewShare(words []int64) ([]Batch, error) {
	if len(words) == 0 || words[0] < 0 || words[0] > int64(len(words)-1)/2 {
		return nil, fmt.Errorf("%d words cannot begin with the count of their batches", len(words))
	}
	n := int(words[0])
	sizes, rest := words[1:1+2*n], words[1+2*n:]
	take := func(k int64) []int64 {
		part := rest[:k:k]
		rest = rest[k:]
		return part
	}
	share := make([]Batch, n)
	for i := range share {
		size, indices, left := sizes[2*i], sizes[2*i+1], int64(len(rest))
		if size < 0 || indices < 0 || size > left || indices > left || 2*size+1+indices > left {
			return nil, fmt.Errorf("batch %d has %d samples and %d indices, but only %d words are left for it", i, size, indices, left)
		}
		share[i] = Batch{Offsets: take(size + 1), Indices: take(indices), Targets: take(size)}
		if err := share[i].check(); err != nil {
			return nil, fmt.Errorf("batch %d: %w", i, err)
		}
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d words are left over after %d batches", len(rest), n)
	}
	return share, nil
}

func sendBatches(conn *callLink, share []Batch) error {
	if err := conn.Send(&comm.Header{Op: opShare, Arg: int64(len(share))}); err != nil {
		return err
	}
	for i := range share {
		if err := sendBatch(conn, opBatch, &share[i]); err != nil {
			return err
		}
	}
	return nil
}

func sendBatch(conn *callLink, op comm.Op, b *Batch) error {
	h := comm.Header{Op: op, Arg: int64(b.Size()), Arg2: int64(len(b.Indices))}
	return conn.Send(&h, comm.Int64Bytes(b.Offsets), comm.Int64Bytes(b.Indices), comm.Int64Bytes(b.Targets))
}

func receiveBatches(conn *callLink) ([]Batch, error) {
	var h comm.Header
	if err := expect(conn, &h, opShare); err != nil {
		return nil, err
	}
	var share []Batch
	for range h.Arg {
		if err := expect(conn, &h, opBatch); err != nil {
			return nil, err
		}
		var b Batch
		if err := readBatch(conn, &h, &b); err != nil {
			return nil, err
		}
		share = append(share, b)
	}
	return share, nil
}

// readBatch reads the batch that h announces into b, whose storage it uses
// again.
func readBatch(conn *callLink, h *comm.Header, b *Batch) error {
	size, indices := h.Arg, h.Arg2
	// Offsets, then indices, then targets.
	if !fits(size, 1) || !fits(indices, 1) || h.Payload != uint64(8*(2*size+1+indices)) { // #nosec G115 -- neither is negative
		return fmt.Errorf("%s sent a batch of %d samples and %d indices in %d bytes", conn.Peer(), size, indices, h.Payload)
	}
	var err error
	if b.Offsets, err = readGrowing(conn, b.Offsets, int(size+1), comm.Int64Bytes); err != nil {
		return err
	}
	if b.Indices, err = readGrowing(conn, b.Indices, int(indices), comm.Int64Bytes); err != nil {
		return err
	}
	if b.Targets, err = readGrowing(conn, b.Targets, int(size), comm.Int64Bytes); err != nil {
		return err
	}
	if err := b.check(); err != nil {
		return fmt.Errorf("%s sent a batch that does not hold together: %w", conn.Peer(), err)
	}
	return nil
}

// headers is where headers come from: a comm.Conn or a callLink.
type headers interface {
	ReadHeader(h *comm.Header) error
	Peer() string
}

// expect reads a header and checks its operation.
func expect(from headers, h *comm.Header, op comm.Op) error {
	if err := from.ReadHeader(h); err != nil {
		return err
	}
	if h.Op != op {
		return fmt.Errorf("%s sent operation %#x where %#x is due", from.Peer(), h.Op, op)
	}
	return nil
}
