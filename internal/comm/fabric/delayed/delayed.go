// Package delayed is a fabric for tests: frames over TCP, each sent after a random delay. So
// a test sees every order of events that the contract leaves open.
package delayed

import (
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/comm/stream"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Name is what the fabric is opened by.
const Name = "delayed"

// longest is the bound of delays.
const longest = 2 * time.Millisecond

// New makes the fabric. The delays of the n-th connection of a process follow from seed
// and n.
func New(seed uint64) *fabric.Fabric {
	raise := raiser(seed)
	return &fabric.Fabric{Name: Name, Network: wire.TCP.Over(Name, raise, raise), Provider: stream.Provider{}}
}

func raiser(seed uint64) wire.Raise {
	var connections atomic.Uint64
	return func(nc net.Conn, _ time.Time) (net.Conn, error) {
		return &conn{Conn: nc, random: rand.New(rand.NewPCG(seed, connections.Add(1)))}, nil // #nosec G404 -- no secret
	}
}

// conn is a connection whose messages are late. Calls of Write come one at a time.
type conn struct {
	net.Conn
	random  *rand.Rand
	message []byte // storage of WriteVector, kept between messages
}

// Write sends late what is one message.
func (c *conn) Write(b []byte) (int, error) {
	time.Sleep(time.Duration(c.random.Int64N(int64(longest))))
	return c.Conn.Write(b)
}

// WriteVector sends a copy of parts late, as one message. A peer may answer into the memory
// of parts before a write of it returns, and the race detector, which looks at that memory
// after the write, would take the answer for a race.
func (c *conn) WriteVector(parts [][]byte) error {
	c.message = c.message[:0]
	for _, part := range parts {
		c.message = append(c.message, part...)
	}
	_, err := c.Write(c.message)
	return err
}
