package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
)

// The connection reads no more from a stranger than a handshake needs. From a
// known peer it reads everything.
func TestWhatAStrangerMaySay(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = theirs.Write(make([]byte, 2*handshakeBytes))
			_ = theirs.Close()
		}()
		r := &records{Conn: ours, strange: handshakeBytes}
		if trusted {
			r.trust()
		}
		read, err := io.Copy(io.Discard, io.Reader(r))
		if refused := errors.Is(err, errTalkative); refused == trusted || !trusted && read != handshakeBytes {
			t.Errorf("of a peer that is known (%t) %d bytes were read: %v", trusted, read, err)
		}
		_ = ours.Close()
	}
}

// batches is a socket that records the bytes of each write.
type batches struct {
	net.Conn
	written [][]byte
}

func (b *batches) Write(p []byte) (int, error) {
	b.written = append(b.written, bytes.Clone(p))
	return len(p), nil
}

// Records reach the socket in order. While they are held, one write carries
// several records.
func TestRecordsGoInBatches(t *testing.T) {
	socket := &batches{}
	r := &records{Conn: socket}
	r.trust()
	var sent []byte
	put := func(n int) {
		record := bytes.Repeat([]byte{byte(len(sent))}, n)
		sent = append(sent, record...)
		if _, err := r.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	put(10) // not held: written at once
	r.hold()
	for range 9 {
		put(recordBytes + 22)
	}
	if len(socket.written) != 3 {
		t.Errorf("nine full records and one before took %d calls, want 3 so far", len(socket.written))
	}
	if err := r.release(); err != nil {
		t.Fatal(err)
	}
	put(10)
	if len(socket.written) != 5 || !bytes.Equal(bytes.Join(socket.written, nil), sent) {
		t.Errorf("%d calls wrote %d bytes of %d, or not in order", len(socket.written),
			len(bytes.Join(socket.written, nil)), len(sent))
	}
}
