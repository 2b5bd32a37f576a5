package wire

import (
	"bufio"
	"crypto/tls"
	"errors"
	"net"
	"sync"
)

const (
	// recordBytes is the maximum payload of a TLS record.
	recordBytes = 16 << 10
	// batchBytes is the number of bytes of records, including TLS overhead,
	// that go to or come from the socket at once. One system call per record
	// would cost a fifth of the rate.
	batchBytes = 4 * (recordBytes + 64)
	// handshakeBytes is the maximum number of bytes that a stranger may send
	// before it has proved that it knows the secret. A handshake needs only a
	// fraction of that.
	handshakeBytes = 16 << 10
)

// sealed is a connection inside TLS 1.3 whose peer has proved that it knows the
// run's secret. Close sends no TLS alert, because sending might block. A link
// ends with a frame, so the peer detects a link that was cut off.
type sealed struct {
	*tls.Conn
	under  *records
	record []byte // buffer that joins small pieces into one record
}

// seal starts TLS on nc by a handshake as client or server, with a config that
// is not shared. The deadlines of nc must be set.
func seal(nc net.Conn, as func(net.Conn, *tls.Config) *tls.Conn, config *tls.Config) (*sealed, error) {
	config.DynamicRecordSizingDisabled = true // small first records would only help browsers
	s := &sealed{under: &records{Conn: nc, strange: handshakeBytes}}
	s.Conn = as(s.under, config)
	if err := s.Handshake(); err != nil {
		return nil, err
	}
	s.under.trust()
	s.record = make([]byte, 0, recordBytes)
	return s, nil
}

// seal starts TLS for all further bytes that c sends and reads.
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

// WriteVector implements vectorWriter. WriteVector writes all parts in full
// records, except for the last record, with one system call per batch of
// records. Only one goroutine may call it.
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

// records is the socket below TLS, which TLS reads and writes record by record.
type records struct {
	net.Conn
	strange int           // bytes that the peer may still send before it is trusted
	in      *bufio.Reader // nil until the peer is trusted

	// mu guards held and out. The sending goroutine writes; the reading
	// goroutine may write too, namely the alert when it fails. TLS hands over
	// records in order. The order is kept, because out is empty unless records
	// are held.
	mu   sync.Mutex
	held bool // records wait until the batch is full or released
	out  []byte
}

var errTalkative = errors.New("the peer sends more than TLS needs to know it")

// trust marks the peer as known.
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

// Write implements net.Conn. Write may return a socket error of an earlier
// call.
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
	r.out = append(r.out, b...) // fits: a record takes a quarter of the batch
	return len(b), nil
}

func (r *records) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = true
}

// release writes the held records.
func (r *records) release() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = false
	return r.flush()
}

// flush writes out. The caller holds mu.
func (r *records) flush() error {
	_, err := r.Conn.Write(r.out)
	r.out = r.out[:0]
	return err
}
