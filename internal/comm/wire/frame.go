package wire

import (
	"encoding/binary"
	"fmt"
)

// Op is the kind of a frame.
type Op uint8

// Operations of the data plane. Other users of a Conn may use the operations
// from OpUser on.
const (
	OpHello         Op = 1 + iota // the first frame of a connection
	OpAck                         // the hello is accepted
	OpRefuse                      // the hello is refused; the payload says why
	OpBye                         // the sender ends the link in order
	OpPush                        // a gradient from a trainer
	OpAnswer                      // the server's answer, which replaces the gradient
	OpScatter                     // a chunk in the reduce-scatter of an all-reduce
	OpGather                      // a chunk in the all-gather of an all-reduce
	OpRows                        // one member's rows in an all-gather
	OpBroadcast                   // a piece of a broadcast
	OpBarrier                     // the sender knows of one more member at the barrier
	OpSegment                     // a request for a segment
	OpLookup                      // the bags of a lookup; in the answer, the columns of their sums
	OpUpdate                      // the gradient of a lookup's sums; in the answer, a confirmation
	OpReduceScatter               // a chunk of a reduce-scatter on its own
	OpAllGather                   // a chunk of an all-gather on its own
	OpAllToAll                    // blocks of an all-to-all
	OpOffer                       // an offer to import device memory, or the reason for none
	opEnd

	OpUser Op = 0x40
)

const (
	// HeaderSize is the size of an encoded Header in bytes: a cache line.
	HeaderSize = 64
	// MaxPayload is the maximum payload of a frame in bytes. A reader that
	// knows the expected size also checks Header.Payload against that size.
	MaxPayload = 1 << 36

	headerMagic   = 0x66627370 // "psbf" in memory
	headerVersion = 2
)

// Header starts every frame; Payload bytes follow. Op, Payload, Sequence and
// Link have the same meaning in all frames; the operation defines the other
// fields.
//
// The encoding is little-endian: magic uint32, version uint16, Op uint8, Flags
// uint8, Batch int64, Bucket int32, Rows int32, Arg int64, Arg2 int64, Payload
// uint64, Sequence uint64, Link uint64.
type Header struct {
	Op      Op
	Flags   uint8
	Batch   int64
	Bucket  int32
	Rows    int32
	Arg     int64
	Arg2    int64
	Payload uint64
	// Sequence is the number of the frame in its direction of the connection,
	// from 0. Link identifies the connection and the direction. A Conn sets and
	// checks both.
	Sequence uint64
	Link     uint64
}

// Encode writes h into buf.
func (h *Header) Encode(buf *[HeaderSize]byte) {
	le := binary.LittleEndian
	le.PutUint32(buf[0:], headerMagic)
	le.PutUint16(buf[4:], headerVersion)
	buf[6] = byte(h.Op)
	buf[7] = h.Flags
	le.PutUint64(buf[8:], uint64(h.Batch))
	le.PutUint32(buf[16:], uint32(h.Bucket))
	le.PutUint32(buf[20:], uint32(h.Rows))
	le.PutUint64(buf[24:], uint64(h.Arg))
	le.PutUint64(buf[32:], uint64(h.Arg2))
	le.PutUint64(buf[40:], h.Payload)
	le.PutUint64(buf[48:], h.Sequence)
	le.PutUint64(buf[56:], h.Link)
}

// Decode reads h from buf. Decode returns an error, and leaves h unchanged, for
// a wrong magic number or version, an unknown operation, or a payload over
// MaxPayload.
func (h *Header) Decode(buf *[HeaderSize]byte) error {
	le := binary.LittleEndian
	if magic := le.Uint32(buf[0:]); magic != headerMagic {
		return fmt.Errorf("a frame starts with %#08x instead of %#08x", magic, headerMagic)
	}
	if version := le.Uint16(buf[4:]); version != headerVersion {
		return fmt.Errorf("a frame has version %d instead of %d", version, headerVersion)
	}
	op := Op(buf[6])
	if op == 0 || op >= opEnd && op < OpUser {
		return fmt.Errorf("a frame has the unknown operation %d", op)
	}
	payload := le.Uint64(buf[40:])
	if payload > MaxPayload {
		return fmt.Errorf("a frame announces %d bytes, more than the limit of %d", payload, uint64(MaxPayload))
	}
	*h = Header{
		Op:       op,
		Flags:    buf[7],
		Batch:    int64(le.Uint64(buf[8:])),
		Bucket:   int32(le.Uint32(buf[16:])),
		Rows:     int32(le.Uint32(buf[20:])),
		Arg:      int64(le.Uint64(buf[24:])),
		Arg2:     int64(le.Uint64(buf[32:])),
		Payload:  payload,
		Sequence: le.Uint64(buf[48:]),
		Link:     le.Uint64(buf[56:]),
	}
	return nil
}
