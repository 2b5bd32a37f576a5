package wire

import (
	"bufio"
	"crypto/tls"
	"errors"
	"net"
	"sync"
)

const (
	// recordBytes is what a record of TLS holds at most.
	recordBytes = 16 << 10
	// batchBytes is how many bytes of records, with what TLS adds to each, go to and come
	// from the socket at once: a system call for each record costs a fifth of the rate.
	batchBytes = 4 * (recordBytes + 64)
	// handshakeBytes is what a stranger may send before it has proved that it knows the
	// secret: several times what that takes.
	handshakeBytes = 16 << 10
)

// sealed is a connection inside TLS 1.3, whose peer has proved that it knows the run's
// secret. It is closed without a word of TLS, which might have to wait for room: a link
// ends by a frame, so that one that is cut off is noticed.
type sealed struct {
	*tls.Conn
	under  *records
	record []byte // storage of the pieces that make a record together
}

// seal has nc, whose deadlines are set, go through TLS by a handshake as client or server,
// by a configuration of its own.
func seal(nc net.Conn, as func(net.Conn, *tls.Config) *tls.Conn, config *tls.Config) (*sealed, error) {
	config.DynamicRecordSizingDisabled = true // small records first would suit browsers
	s := &sealed{under: &records{Conn: nc, strange: handshakeBytes}}
	s.Conn = as(s.under, config)
	if err := s.Handshake(); err != nil {
		return nil, err
	}
	s.under.trust()
	s.record = make([]byte, 0, recordBytes)
	return s, nil
}

// seal has all that c sends and reads from now on go through TLS.
func (c *Conn) seal(as func(net.Conn, *tls.Config) *tls.Conn, config *tls.Config) error {
	s, err := seal(c.nc, as, config)
	if err == nil {
		c.nc = s
		c.in.Reset(s)
	}
	return err
}

// Close implements net.Conn.
func (s *sealed) Close() error { return s.under.Close() }

// Write implements net.Conn.
func (s *sealed) Write(b []byte) (int, error) {
	s.under.hold()
	n, err := s.Conn.Write(b)
	if err == nil {
		err = s.under.release()
	}
	return n, err
}

// WriteVector implements vectorWriter: all of parts, in records that are full but for the
// last one, and one system call for each batch of them. One goroutine may call it.
func (s *sealed) WriteVector(parts [][]byte) error {
	s.under.hold()
	record := s.record[:0]
	for _, part := range parts {
		for len(part) > 0 {
			if len(record) == 0 && len(part) >= recordBytes {
				whole := len(part) - len(part)%recordBytes
				if _, err := s.Conn.Write(part[:whole]); err != nil {
					return err
				}
				part = part[whole:]
				continue
			}
			n := min(len(part), recordBytes-len(record))
			record, part = append(record, part[:n]...), part[n:]
			if len(record) == recordBytes {
				if _, err := s.Conn.Write(record); err != nil {
					return err
				}
				record = record[:0]
			}
		}
	}
	if len(record) > 0 {
		if _, err := s.Conn.Write(record); err != nil {
			return err
		}
	}
	return s.under.release()
}

// records is the socket as TLS sees it, which reads and writes record by record.
type records struct {
	net.Conn
	strange int           // bytes that the peer may still send as a stranger
	in      *bufio.Reader // nil of a stranger

	// Beside the goroutine that sends, the one that reads may write: the alert that it
	// fails with. TLS hands over records in their order, and so they stay: out is empty
	// unless they are held.
	mu   sync.Mutex
	held bool // records wait until the batch is full, or for release
	out  []byte
}

var errTalkative = errors.New("the peer sends more than TLS needs to know it")

// trust is called once the peer is no stranger.
func (r *records) trust() {
	r.in = bufio.NewReaderSize(r.Conn, batchBytes)
	r.out = make([]byte, 0, batchBytes)
}

// Read implements net.Conn.
func (r *records) Read(b []byte) (int, error) {
	if r.in != nil {
		return r.in.Read(b)
	}
	if r.strange == 0 {
		return 0, errTalkative
	}
	n, err := r.Conn.Read(b[:min(len(b), r.strange)])
	r.strange -= n
	return n, err
}

// Write implements net.Conn. An error of the socket may come with a later call.
func (r *records) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.held {
		return r.Conn.Write(b)
	}
	if len(r.out)+len(b) > cap(r.out) {
		if err := r.flush(); err != nil {
			return 0, err
		}
	}
	r.out = append(r.out, b...) // fits: a record is a fourth of the batch
	return len(b), nil
}

func (r *records) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = true
}

// release writes what is held.
func (r *records) release() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = false
	return r.flush()
}

// flush is called with mu held.
func (r *records) flush() error {
	_, err := r.Conn.Write(r.out)
	r.out = r.out[:0]
	return err
}
