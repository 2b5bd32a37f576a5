// Package delayed is a transport for tests: it sends frames over TCP, each
// after a random delay. Tests thus see every order of events that the contract
// allows.
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

// Name is the name of the fabric for fabric.Open.
const Name = "delayed"

// longest is the maximum delay.
const longest = 2 * time.Millisecond

// New makes the fabric. seed and n determine the delays of a process's n-th
// connection.
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

// conn is a connection that delays its messages. Only one Write may run at a
// time.
type conn struct {
	net.Conn
	random  *rand.Rand
	message []byte // buffer of WriteVector, reused for each message
}

// Write sends b as one message after a delay.
func (c *conn) Write(b []byte) (int, error) {
	time.Sleep(time.Duration(c.random.Int64N(int64(longest))))
	return c.Conn.Write(b)
}

// WriteVector sends a copy of parts as one message after a delay. The copy
// avoids a false alarm of the race detector. A peer may answer into the memory
// of parts before the write returns; the race detector checks that memory after
// the write and would report the answer as a race.
func (c *conn) WriteVector(parts [][]byte) error {
	c.message = c.message[:0]
	for _, part := range parts {
		c.message = append(c.message, part...)
	}
	_, err := c.Write(c.message)
	return err
}
