package call

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/quote"
)

const (
	// OpFailed answers a call that failed; its payload is the sentence.
	OpFailed = wire.OpUser + 0x12
	// opMemory goes with a segment; arg: its bytes.
	opMemory = wire.OpUser + 0x1b
)

// ReadAnswer reads the next answer of a companion: an OpFailed becomes an error.
func ReadAnswer(conn *Link, h *wire.Header) error {
	if err := conn.ReadHeader(h); err != nil {
		return err
	}
	if h.Op != OpFailed {
		return nil
	}
	text := make([]byte, min(h.Payload, 1<<16))
	if err := conn.ReadFull(text); err != nil {
		return err
	}
	return &fault.Part{Text: fmt.Sprintf("%s: %s", conn.Peer(), quote.Message(string(text)))}
}

// Fits says whether a table of rows x columns could ever be a payload: counts
// beyond that are lies and would overflow.
func Fits(rows, columns int64) bool {
	return rows >= 0 && columns >= 0 && rows <= wire.MaxPayload && columns <= wire.MaxPayload/max(1, rows)
}

// growStep is how many elements a slice grows by at a time while a peer fills
// it: a count that is a lie must not make the process allocate it.
const growStep = 1 << 20

// ReadGrowing reads n elements into dst, whose storage it uses again.
func ReadGrowing[T any](conn *Link, dst []T, n int, bytesOf func([]T) []byte) ([]T, error) {
	dst = dst[:0]
	for len(dst) < n {
		from := len(dst)
		dst = slices.Grow(dst, min(n-from, growStep))
		dst = dst[:min(n, cap(dst))]
		if err := conn.ReadFull(bytesOf(dst[from:])); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// ReadFloats reads the payload that h announces into dst, which it must fill.
func ReadFloats(conn *Link, h *wire.Header, dst []float32) error {
	if h.Payload != uint64(4*len(dst)) {
		return fmt.Errorf("%s sent %d bytes where %d are due", conn.Peer(), h.Payload, 4*len(dst))
	}
	return conn.ReadFull(tensor.Float32Bytes(dst))
}

// TakeFloats is the next n elements of the payload: where both sides have them, if they lie there
// together, or else read into *own, which grows. See Link.View for how long they stay.
func TakeFloats(conn *Link, own *[]float32, n int) ([]float32, error) {
	if seen := conn.View(4*n, false); seen != nil {
		return tensor.ViewFloat32(seen), nil
	}
	var err error
	*own, err = ReadGrowing(conn, *own, n, tensor.Float32Bytes)
	return *own, err
}

// PlaceFloats is where n elements of the next payload are to be made: where both sides have them,
// if there is room, or else in *own, which grows.
func PlaceFloats(conn *Link, own *[]float32, n int) ([]float32, error) {
	at, err := conn.Place(4 * n)
	if at != nil || err != nil {
		return tensor.ViewFloat32(at), err
	}
	*own = slices.Grow((*own)[:0], n)[:n]
	return *own, nil
}

// headers is where headers come from: a wire.Conn or a Link.
type headers interface {
	ReadHeader(h *wire.Header) error
	Peer() string
}

// Expect reads a header and checks its operation.
func Expect(from headers, h *wire.Header, op wire.Op) error {
	if err := from.ReadHeader(h); err != nil {
		return err
	}
	if h.Op != op {
		return fmt.Errorf("%s sent operation %#x where %#x is due", from.Peer(), h.Op, op)
	}
	return nil
}
