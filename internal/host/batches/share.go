// Package batches moves batches from the data process to trainers: it checks, cuts and sends them,
// and reads them ahead.
package batches

import (
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// The data process sends a share of batches to a trainer in one of two forms. In shared memory, a
// frame announces the size, and the batches lie in a segment that no process can map for writing
// any more.
//
// On other transports, a first frame says how many batches follow and how much memory they need.
// One frame per batch follows: the lengths of its lists, then the lists. Rows in the frame's header
// is the batch's TargetWidth. If TargetWidth is 0, the frame has no list of numeric targets.
const (
	opShare = wire.OpUser + iota
	OpBatch
	opShareSegment
)

// SendShare sends a share of batches to a trainer.
func SendShare(p *process.Process, conn *wire.Conn, share []sdk.Batch) error {
	if err := conn.Bound(p.Timeout); err != nil {
		return err
	}
	if p.Fabric.Maps() && conn.PassesSegments() {
		return sendShareSegment(conn, share)
	}
	return sendBatches(&call.Link{Conn: conn}, share)
}

// receiveShare receives the batches that SendShare sent. The batches lie in read-only memory that
// the process owns.
func receiveShare(p *process.Process, conn *wire.Conn) ([]sdk.Batch, error) {
	if err := conn.Bound(p.Timeout); err != nil {
		return nil, err
	}
	if p.Fabric.Maps() && conn.PassesSegments() {
		return receiveShareSegment(p, conn)
	}
	return receiveBatches(p, &call.Link{Conn: conn})
}

func sendShareSegment(conn *wire.Conn, share []sdk.Batch) (err error) {
	segment, err := shm.New("the batches of "+conn.Peer(), 8*shareWords(share), true)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := segment.Close(); err == nil {
			err = cerr
		}
	}()
	writeShare(tensor.ViewInt64(segment.Bytes()), share)
	if err := segment.SealWriting(); err != nil {
		return err
	}
	return call.SendSegment(conn, opShareSegment, segment)
}

func receiveShareSegment(p *process.Process, conn *wire.Conn) ([]sdk.Batch, error) {
	segment, err := call.ReceiveSegment(conn, opShareSegment, true)
	if err != nil {
		return nil, err
	}
	p.OwnMemory(segment)
	share, err := viewShare(tensor.ViewInt64(segment.Bytes()))
	if err != nil {
		return nil, fmt.Errorf("%s sent inconsistent batches: %w", conn.Peer(), err)
	}
	return share, nil
}

// A share in a segment consists of int64 words. First comes the number of batches, then the list
// lengths of each batch, then the lists. Two features share one word; if their number is odd, half
// a word stays unused.
//
// If the targets are numbers, the number of batches is stored as a negative value, and TargetWidth
// follows. Every batch then also has a list of numeric targets.

// Lists is the number of lists in a batch: offsets, indices, class targets, features and numeric
// targets.
const Lists = 5

// listsOf returns how many lists of a batch are sent for this target width.
func listsOf(width int) int {
	if width == 0 {
		return Lists - 1
	}
	return Lists
}

// Lengths are the lengths of a batch's lists.
type Lengths [Lists]int64

// LengthsOf returns the lengths of a batch's lists.
func LengthsOf(b *sdk.Batch) Lengths {
	return Lengths{int64(len(b.Offsets)), int64(len(b.Indices)), int64(len(b.Targets)), int64(len(b.Features)),
		int64(len(b.FloatTargets))}
}

// AllLengths returns the list lengths of each batch.
func AllLengths(batches []sdk.Batch) []Lengths {
	out := make([]Lengths, len(batches))
	for i := range batches {
		out[i] = LengthsOf(&batches[i])
	}
	return out
}

// LargestOf returns lengths that no batch of a share exceeds.
func LargestOf(share Share, in sdk.InputSpec) Lengths {
	n := int64(share.BatchSamples)
	most := Lengths{n + 1, int64(share.BatchIndices), n * int64(max(1, in.Targets)), n * int64(in.Features)}
	if share.TargetWidth > 0 {
		most[2], most[4] = 0, n*int64(share.TargetWidth)
	}
	return most
}

// Share describes, in counts, one trainer's share of the data.
type Share struct {
	Batches, Samples int // in one epoch
	DistinctRows     int // maximum number of distinct indices in one batch
	BatchSamples     int // samples in the largest batch
	BatchIndices     int // indices in the batch with most indices
	HeldOutBatches   int
	TargetWidth      int // numeric targets per row; 0 for class targets
}

// Partition describes how the data was divided among the trainers.
type Partition struct {
	Samples, Batches int
	Dropped          int     // batches that no trainer gets
	Shares           []Share // one share per trainer
	OwnBatches       bool    // whether the data cut the batches itself
	Streamed         bool    // whether the batches are read again in every epoch
	HeldOut          int     // number of samples for evaluation only
}

// possible reports whether every length is non-negative and small enough that sums of lengths
// cannot overflow.
func (n Lengths) possible() bool {
	for _, k := range n {
		if k < 0 || k > wire.MaxPayload {
			return false
		}
	}
	return true
}

// Bytes returns the size of the lists in a frame, in bytes.
func (n Lengths) Bytes() int64 { return 8*(n[0]+n[1]+n[2]) + 4*(n[3]+n[4]) }

// words returns the size of the lists in a segment, in int64 words.
func (n Lengths) words() int64 { return n[0] + n[1] + n[2] + floatWords(n[3]) + floatWords(n[4]) }

func floatWords(floats int64) int64 { return (floats + 1) / 2 }

// widthOf returns the TargetWidth that all batches of a share have in common.
func widthOf(share []sdk.Batch) int {
	if len(share) == 0 {
		return 0
	}
	return share[0].TargetWidth
}

// shareWords returns the size of a share in a segment, in int64 words.
func shareWords(share []sdk.Batch) int {
	width := widthOf(share)
	n := int64(1 + min(width, 1))
	for i := range share {
		n += int64(listsOf(width)) + LengthsOf(&share[i]).words()
	}
	return int(n)
}

func writeShare(words []int64, share []sdk.Batch) {
	width := widthOf(share)
	words[0] = int64(len(share))
	rest := words[1:]
	if width > 0 {
		words[0], words[1] = -words[0], int64(width)
		rest = words[2:]
	}
	for i := range share {
		n := LengthsOf(&share[i])
		rest = rest[copy(rest, n[:listsOf(width)]):]
	}
	for i := range share {
		b := &share[i]
		for _, list := range [][]int64{b.Offsets, b.Indices, b.Targets} {
			rest = rest[copy(rest, list):]
		}
		for _, list := range [][]float32{b.Features, b.FloatTargets} {
			copy(tensor.Int64Bytes(rest), tensor.Float32Bytes(list))
			rest = rest[floatWords(int64(len(list))):]
		}
	}
}

// viewShare finds the batches in words. The words come from another process, so viewShare checks
// them.
func viewShare(words []int64) ([]sdk.Batch, error) {
	all, count, width := int64(len(words)), int64(0), 0
	if all > 0 {
		count, words = words[0], words[1:]
	}
	if count < 0 && all > 1 && words[0] > 0 && words[0] <= wire.MaxPayload {
		count, width, words = -count, int(words[0]), words[1:]
	}
	lists := int64(listsOf(width))
	if all == 0 || count < 0 || count > int64(len(words))/lists {
		return nil, fmt.Errorf("%d words cannot begin with the count of their batches", all)
	}
	sizes, rest := words[:lists*count], words[lists*count:]
	take := func(k int64) []int64 {
		part := rest[:k:k]
		rest = rest[k:]
		return part
	}
	floats := func(k int64) []float32 {
		return tensor.ViewFloat32(tensor.Int64Bytes(take(floatWords(k))))[:k:k]
	}
	share := make([]sdk.Batch, count)
	for i := range share {
		var n Lengths
		copy(n[:lists], sizes[lists*int64(i):])
		if !n.possible() || n.words() > int64(len(rest)) {
			return nil, fmt.Errorf("batch %d has lists of %d, but only %d words are left for them", i, n, len(rest))
		}
		share[i] = sdk.Batch{Offsets: take(n[0]), Indices: take(n[1]), Targets: take(n[2]), Features: floats(n[3]),
			FloatTargets: floats(n[4]), TargetWidth: width}
		if err := Check(&share[i]); err != nil {
			return nil, fmt.Errorf("batch %d: %w", i, err)
		}
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d words are left over after %d batches", len(rest), count)
	}
	return share, nil
}

func sendBatches(conn *call.Link, share []sdk.Batch) error {
	bytes := int64(0)
	for i := range share {
		bytes += 8 * LengthsOf(&share[i]).words()
	}
	if err := conn.Send(&wire.Header{Op: opShare, Arg: int64(len(share)), Arg2: bytes}); err != nil {
		return err
	}
	for i := range share {
		if err := Send(conn, OpBatch, &share[i]); err != nil {
			return err
		}
	}
	return nil
}

// Send sends one batch: the lengths of its lists, then the lists.
func Send(conn *call.Link, op wire.Op, b *sdk.Batch) error {
	return send(conn, &wire.Header{Op: op}, b)
}

// SendStreamed sends one batch of a stream. pass counts from 1, because the stream begins again in
// each pass.
func SendStreamed(conn *call.Link, pass int64, b *sdk.Batch) error {
	return send(conn, &wire.Header{Op: OpBatch, Arg: pass}, b)
}

func send(conn *call.Link, h *wire.Header, b *sdk.Batch) error {
	conn.Lengths = LengthsOf(b)
	h.Rows = int32(b.TargetWidth) // #nosec G115 -- at most as many as a sample has numbers
	return conn.Send(h, tensor.Int64Bytes(conn.Lengths[:listsOf(b.TargetWidth)]),
		tensor.Int64Bytes(b.Offsets), tensor.Int64Bytes(b.Indices), tensor.Int64Bytes(b.Targets),
		tensor.Float32Bytes(b.Features), tensor.Float32Bytes(b.FloatTargets))
}

// receiveBatches receives the batches that sendBatches sent. As with shared memory, the batches lie
// in read-only memory that the process owns.
func receiveBatches(p *process.Process, conn *call.Link) ([]sdk.Batch, error) {
	var h wire.Header
	if err := call.Expect(conn, &h, opShare); err != nil {
		return nil, err
	}
	if h.Arg2 < 0 || h.Arg2 > wire.MaxPayload {
		return nil, fmt.Errorf("%s sent %d batches of %d bytes, which is impossible", conn.Peer(), h.Arg, h.Arg2)
	}
	segment, err := shm.New("the batches of "+p.Name(), int(max(1, h.Arg2)), false)
	if err != nil {
		return nil, err
	}
	p.OwnMemory(segment)
	seen, err := segment.ReadOnly()
	if err != nil {
		return nil, err
	}
	var share []sdk.Batch
	at := segment.Bytes()
	for range h.Arg {
		if err := call.Expect(conn, &h, OpBatch); err != nil {
			return nil, err
		}
		n, err := readLengths(conn, &h)
		if err != nil {
			return nil, err
		}
		size := 8 * n.words()
		if size > int64(len(at)) {
			return nil, fmt.Errorf("%s sent a batch of %d bytes but announced %d", conn.Peer(), size, len(at))
		}
		if err := conn.ReadFull(at[:n.Bytes()]); err != nil {
			return nil, err
		}
		b, err := viewBatch(conn, seen, n, &h)
		if err != nil {
			return nil, err
		}
		share = append(share, b)
		at, seen = at[size:], seen[size:]
	}
	return share, nil
}

// readOnlyShare moves batches of this process to read-only memory.
func readOnlyShare(p *process.Process, share []sdk.Batch) ([]sdk.Batch, error) {
	segment, err := shm.New("the preprocessed batches of "+p.Name(), 8*shareWords(share), true)
	if err != nil {
		return nil, err
	}
	p.OwnMemory(segment)
	writeShare(tensor.ViewInt64(segment.Bytes()), share)
	seen, err := segment.ReadOnly()
	if err != nil {
		return nil, err
	}
	return viewShare(tensor.ViewInt64(seen))
}
