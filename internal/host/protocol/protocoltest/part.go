// Package protocoltest plays the part's side of docs/protocol.md in tests of hosts. The test
// decides how its part handles each frame.
package protocoltest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/process"
)

// Operations of frames and roles of tensors, as docs/protocol.md lists them.
const (
	Segment  wire.Op = 0x60
	Tensor   wire.Op = 0x61
	Ping     wire.Op = 0x62
	Failed   wire.Op = 0x63
	Memory   wire.Op = 0x64
	Receive  wire.Op = 0x90
	Received wire.Op = 0x91
	Answer   wire.Op = 0x92
	Answered wire.Op = 0x93
	Load     wire.Op = 0x98
	Origin   wire.Op = 0x99

	Push           uint8 = 13
	PushRows       uint8 = 14
	Own            uint8 = 15
	OwnRows        uint8 = 16
	Limits         uint8 = 17
	LoadedIndices  uint8 = 18
	LoadedOffsets  uint8 = 19
	LoadedFeatures uint8 = 20
	LoadedTargets  uint8 = 21
	Batches        uint8 = 22
	AskedCounts    uint8 = 27
	Payload        uint8 = 28
)

// Part is a part that a host calls.
type Part struct {
	// Take handles each frame that is not a segment, a tensor or a ping. Take runs on the part's
	// goroutine and may send frames. An error ends the part's side of the link. With io.EOF, the part
	// sends no message.
	Take func(p *Part, h wire.Header) error

	listener *net.UnixListener
	conn     *net.UnixConn
	link     uint64
	came     uint64        // number of frames from the host
	later    []wire.Header // calls that have arrived but are not handled so far
	segments map[int32]*shm.Segment
	tensors  map[[2]int32][]byte // tensors of the host
	mine     map[[2]int32][]byte // tensors that the part announced
	ended    chan error

	sending sync.Mutex
	sent    uint64
}

// NewPart starts a part with this name. The part listens in the folder dir.
func NewPart(t testing.TB, dir, name string, take func(p *Part, h wire.Header) error) (*Part, process.Peer) {
	t.Helper()
	path := filepath.Join(dir, name+".sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	p := &Part{
		Take: take, listener: l, link: 0x1122334455667788, segments: map[int32]*shm.Segment{},
		tensors: map[[2]int32][]byte{}, mine: map[[2]int32][]byte{}, ended: make(chan error, 1),
	}
	go func() {
		err := p.serve()
		_ = l.Close()
		if p.conn != nil {
			_ = p.conn.Close()
		}
		p.ended <- err
	}()
	t.Cleanup(func() { _ = p.End() })
	return p, process.Peer{Name: name, Address: path, Protocol: true}
}

// End stops the part as if it had died, and waits for it. If the part had already ended by itself,
// the error says why.
func (p *Part) End() error {
	_ = p.listener.Close()
	p.sending.Lock()
	if p.conn != nil {
		_ = p.conn.Close()
	}
	p.sending.Unlock()
	err := p.Ended()
	for _, s := range p.segments {
		_ = s.Close()
	}
	p.segments = nil
	return err
}

// Ended waits until the link has ended, and returns the reason.
func (p *Part) Ended() error {
	err := <-p.ended
	p.ended <- err
	return err
}

func (p *Part) serve() error {
	conn, err := p.listener.AcceptUnix()
	if err != nil {
		return nil // no host has called
	}
	p.sending.Lock()
	p.conn = conn
	p.sending.Unlock()
	hello, _, err := p.read()
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(p.conn, make([]byte, hello.Payload)); err != nil {
		return err
	}
	if err := p.write(wire.Header{Op: wire.OpAck, Arg: int64(p.link)}, 0, nil); err != nil { // #nosec G115 -- its bits
		return err
	}
	for {
		h, fd, err := p.read()
		if err == nil {
			err = p.handle(h, fd)
		}
		for err == nil && len(p.later) > 0 {
			next := p.later[0]
			p.later = p.later[1:]
			err = p.Take(p, next)
		}
		if err != nil {
			return err
		}
	}
}

func (p *Part) handle(h wire.Header, fd int) error {
	switch h.Op {
	case Segment:
		s, err := shm.Open(fd, int(h.Arg), h.Flags&1 != 0, false)
		if err != nil {
			return err
		}
		p.segments[h.Bucket] = s
		return nil
	case Tensor:
		at, size := p.segments[h.Rows], sizeOf(h.Flags)
		if h.Arg2 == 0 {
			p.tensors[[2]int32{int32(h.Flags), h.Bucket}] = nil
			return nil
		}
		p.tensors[[2]int32{int32(h.Flags), h.Bucket}] = at.Bytes()[h.Arg : h.Arg+size*h.Arg2]
		return nil
	case Ping:
		return p.Send(h)
	}
	p.later = append(p.later, h)
	return nil
}

func sizeOf(role uint8) int64 {
	switch role {
	case 6, 7, 9, Limits, LoadedIndices, LoadedOffsets, LoadedTargets, Batches, AskedCounts:
		return 8
	case Payload:
		return 1
	}
	return 4
}

// Of returns the memory of a host's tensor.
func (p *Part) Of(role uint8, index int32) []byte { return p.tensors[[2]int32{int32(role), index}] }

// Mine returns the memory of a tensor that the part announced.
func (p *Part) Mine(role uint8, index int32) []byte { return p.mine[[2]int32{int32(role), index}] }

// Floats returns the same memory as Of, as float32 values.
func (p *Part) Floats(role uint8, index int32) []float32 {
	return tensor.ViewFloat32(p.Of(role, index))
}

// Ask requests memory from the host and returns its segment's number and bytes. Calls that arrive
// before the memory are handled later.
func (p *Part) Ask(bytes int) (number int32, at []byte, err error) {
	asked := int32(1000 + len(p.segments)) // #nosec G115 -- few
	if err := p.Send(wire.Header{Op: Memory, Arg: int64(bytes), Bucket: asked}); err != nil {
		return 0, nil, err
	}
	for {
		h, fd, err := p.read()
		if err == nil {
			err = p.handle(h, fd)
		}
		if err != nil {
			return 0, nil, err
		}
		if h.Op == Segment && h.Arg2 == int64(asked) {
			return h.Bucket, p.segments[h.Bucket].Bytes(), nil
		}
	}
}

// Give requests memory, copies the bytes of what there and announces the memory as a tensor.
func (p *Part) Give(role uint8, index int32, what []byte) error {
	number, at, err := p.Ask(max(1, len(what)))
	if err != nil {
		return err
	}
	copy(at, what)
	p.mine[[2]int32{int32(role), index}] = at[:len(what)]
	return p.Send(wire.Header{Op: Tensor, Flags: role, Bucket: index, Rows: number,
		Arg2: int64(len(what)) / sizeOf(role)})
}

// Send sends a frame, with or without a text.
func (p *Part) Send(h wire.Header, text ...byte) error { return p.write(h, ^p.link, text) }

// Skip leaves out one number in the sequence of frames.
func (p *Part) Skip() {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.sent++
}

// Forge sends a frame with an invalid link and sequence number.
func (p *Part) Forge(h wire.Header) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	var buf [wire.HeaderSize]byte
	h.Encode(&buf)
	_, err := p.conn.Write(buf[:])
	return err
}

func (p *Part) write(h wire.Header, link uint64, text []byte) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	h.Sequence, h.Link, h.Payload = p.sent, link, uint64(len(text))
	p.sent++
	var buf [wire.HeaderSize]byte
	h.Encode(&buf)
	_, err := p.conn.Write(append(buf[:], text...))
	return err
}

// read reads a header and the file descriptor sent with it, or -1 without one.
func (p *Part) read() (h wire.Header, fd int, err error) {
	var buf [wire.HeaderSize]byte
	fd = -1
	control := make([]byte, unix.CmsgSpace(4))
	for got := 0; got < len(buf); {
		n, nc, _, _, err := p.conn.ReadMsgUnix(buf[got:], control)
		if err != nil || n == 0 {
			return h, fd, errors.Join(io.EOF, err)
		}
		got += n
		if nc > 0 {
			messages, err := unix.ParseSocketControlMessage(control[:nc])
			if err != nil {
				return h, fd, err
			}
			fds, err := unix.ParseUnixRights(&messages[0])
			if err != nil {
				return h, fd, err
			}
			fd = fds[0]
		}
	}
	if err := h.Decode(&buf); err != nil {
		return h, fd, err
	}
	if h.Sequence != p.came || p.came > 0 && h.Link != p.link {
		return h, fd, fmt.Errorf("frame %d of link %#x came where frame %d of link %#x is due", h.Sequence, h.Link,
			p.came, p.link)
	}
	p.came++
	return h, fd, nil
}
