package wire

import "time"

// Links are the connections that a port or a group joins at one rank.
type Links struct {
	Self    string
	Conns   []*Conn // by position of the peer
	Timeout time.Duration
}

// Close closes all of them.
func (l *Links) Close() (err error) {
	for _, c := range l.Conns {
		if c == nil {
			continue
		}
		if e := c.Close(); err == nil {
			err = e
		}
	}
	return err
}
