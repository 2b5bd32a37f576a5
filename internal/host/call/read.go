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
	// OpFailed answers a failed call. The payload is the error message.
	OpFailed = wire.OpUser + 0x12
	// opMemory accompanies a segment; arg is the segment's size in bytes.
	opMemory = wire.OpUser + 0x1b
)

// ReadAnswer reads the companion's next answer and turns an OpFailed into an error.
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

// Fits reports whether a table of rows x columns could be a payload at all. Larger counts are
// false, and arithmetic on them would overflow.
func Fits(rows, columns int64) bool {
	return rows >= 0 && columns >= 0 && rows <= wire.MaxPayload && columns <= wire.MaxPayload/max(1, rows)
}

// growStep is the number of elements by which a slice grows while a peer fills it. Growing in steps
// keeps a false count from making the process allocate the memory.
const growStep = 1 << 20

// ReadGrowing reads n elements into dst and reuses its storage.
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

// ReadFloats reads the payload that h announces into dst. The payload must fill dst.
func ReadFloats(conn *Link, h *wire.Header, dst []float32) error {
	if h.Payload != uint64(4*len(dst)) {
		return fmt.Errorf("%s sent %d bytes where %d are due", conn.Peer(), h.Payload, 4*len(dst))
	}
	return conn.ReadFull(tensor.Float32Bytes(dst))
}

// TakeFloats returns the next n elements of the payload. If the elements lie together in shared
// memory, TakeFloats returns them in place. If the elements do not, TakeFloats reads them into
// *own, which grows as needed. See Link.View for how long the elements stay valid.
func TakeFloats(conn *Link, own *[]float32, n int) ([]float32, error) {
	if seen := conn.View(4*n, false); seen != nil {
		return tensor.ViewFloat32(seen), nil
	}
	var err error
	*own, err = ReadGrowing(conn, *own, n, tensor.Float32Bytes)
	return *own, err
}

// PlaceFloats returns memory for n elements of the next payload. The memory is in the shared
// segment if there is room, and otherwise in *own, which grows as needed.
func PlaceFloats(conn *Link, own *[]float32, n int) ([]float32, error) {
	at, err := conn.Place(4 * n)
	if at != nil || err != nil {
		return tensor.ViewFloat32(at), err
	}
	*own = slices.Grow((*own)[:0], n)[:n]
	return *own, nil
}

// headers is a source of headers: a wire.Conn or a Link.
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
