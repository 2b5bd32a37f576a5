package limits

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/numeral"
)

// Link is what a link between two hosts can do at best.
type Link struct {
	// OutGBps is how fast bytes go from the end that measured to the other one, BackGBps how fast they come
	// back, one after the other.
	OutGBps  float64 `json:"out_gbps"`
	BackGBps float64 `json:"back_gbps"`
	// RoundTripUS is the median time of a few bytes there and back, while nothing else is on the way.
	RoundTripUS float64 `json:"round_trip_us"`
}

// What the end that measures asks of the other one, a byte each.
const (
	echo byte = iota // the next byte back
	take             // blocks, and then how long they took
	give             // blocks for a time
	done
)

// linkBytes is the size of a block. It goes over a link of 1 Mbit/s in a second.
const linkBytes = 128 << 10

// trips bounds how many round trips there are.
const trips = 200

// A block begins with a byte that says whether there are more.
const (
	last byte = iota
	more
)

// MeasureLink measures the link between two hosts over connections whose other ends ServeLink serves. It times
// round trips on the first connection, then bytes on all of them together, out and back, each for a third of the
// time. The connections carry only reads and writes. A connection that stalls for 5 s is an error; close the
// connections to stop earlier.
func MeasureLink(connections []net.Conn, during time.Duration) (l Link, err error) {
	if len(connections) == 0 {
		return l, errors.New("a link cannot be measured without a connection")
	}
	if l.RoundTripUS, err = roundTrip(connections[0], during/3); err == nil {
		l.OutGBps, err = together(connections, func(c net.Conn) (float64, error) { return out(c, during/3) })
	}
	if err == nil {
		l.BackGBps, err = together(connections, func(c net.Conn) (float64, error) { return back(c, during/3) })
	}
	for _, c := range connections {
		if err == nil {
			err = write(c, []byte{done})
		}
	}
	if err != nil {
		return Link{}, fmt.Errorf("the link from %v to %v cannot be measured: %w", connections[0].LocalAddr(),
			connections[0].RemoteAddr(), err)
	}
	return l, nil
}

// ServeLink serves one connection of MeasureLink and returns at its end. It drops received bytes and sends only
// zeros. The caller authenticates the peer.
func ServeLink(c net.Conn) error {
	for {
		var asked [1]byte
		if err := readWithin(c, asked[:], longest); err != nil { // while other connections are measured
			return err
		}
		var err error
		switch asked[0] {
		case echo:
			err = write(c, asked[:])
		case take:
			err = serveTake(c)
		case give:
			err = serveGive(c)
		case done:
			return nil
		default:
			err = fmt.Errorf("%v asks for %d, which no measurement of a link does", c.RemoteAddr(), asked[0])
		}
		if err != nil {
			return err
		}
	}
}

// together does something on all connections at once and adds the rates up.
func together(connections []net.Conn, do func(net.Conn) (float64, error)) (gbps float64, err error) {
	rates, errs := make([]float64, len(connections)), make([]error, len(connections))
	var all sync.WaitGroup
	for i, c := range connections {
		all.Go(func() { rates[i], errs[i] = do(c) })
	}
	all.Wait()
	for _, rate := range rates {
		gbps += rate
	}
	return gbps, errors.Join(errs...)
}

func roundTrip(c net.Conn, during time.Duration) (us float64, err error) {
	var took []float64
	for until := comm.Now() + int64(during); len(took) == 0 || len(took) < trips && comm.Now() < until; {
		message := [1]byte{echo}
		begun := comm.Now()
		if err := errors.Join(write(c, message[:]), read(c, message[:])); err != nil {
			return 0, err
		}
		took = append(took, float64(comm.Now()-begun)/1e3)
	}
	return numeral.Median(took), nil
}

// out sends blocks for a time, and gets the rate from who received them.
func out(c net.Conn, during time.Duration) (gbps float64, err error) {
	if err := write(c, []byte{take}); err != nil {
		return 0, err
	}
	if err := sendBlocks(c, during); err != nil {
		return 0, err
	}
	var numbers [16]byte
	if err := read(c, numbers[:]); err != nil {
		return 0, err
	}
	bytes, ns := binary.LittleEndian.Uint64(numbers[:]), binary.LittleEndian.Uint64(numbers[8:])
	return float64(bytes) / float64(max(1, ns)), nil
}

func serveTake(c net.Conn) error {
	bytes, ns, err := receiveBlocks(c)
	if err != nil {
		return err
	}
	numbers := binary.LittleEndian.AppendUint64(nil, uint64(bytes))        // #nosec G115 -- a count
	return write(c, binary.LittleEndian.AppendUint64(numbers, uint64(ns))) // #nosec G115 -- a duration
}

// back has the other end send blocks for a time, and is who receives them.
func back(c net.Conn, during time.Duration) (gbps float64, err error) {
	if err := write(c, binary.LittleEndian.AppendUint64([]byte{give}, uint64(during))); err != nil { // #nosec G115 -- a duration
		return 0, err
	}
	bytes, ns, err := receiveBlocks(c)
	return float64(bytes) / float64(max(1, ns)), err
}

// longest is for how long who serves a link sends, and waits for a question.
const longest = time.Minute

func serveGive(c net.Conn) error {
	var asked [8]byte
	if err := read(c, asked[:]); err != nil {
		return err
	}
	during := min(binary.LittleEndian.Uint64(asked[:]), uint64(longest))
	return sendBlocks(c, time.Duration(during)) // #nosec G115 -- a minute at most
}

// sendBlocks sends blocks until the time is over, two at least: the first one starts the receiver's clock.
func sendBlocks(c net.Conn, during time.Duration) error {
	block := make([]byte, linkBytes)
	until := comm.Now() + int64(during)
	for n := 1; ; n++ {
		block[0] = more
		if n > 1 && comm.Now() >= until {
			block[0] = last
		}
		if err := write(c, block); err != nil || block[0] == last {
			return err
		}
	}
}

// receiveBlocks takes blocks up to the last one, and says what came after the first one in how long.
func receiveBlocks(c net.Conn) (bytes, ns int64, err error) {
	block := make([]byte, linkBytes)
	begun := int64(0)
	for {
		if err := read(c, block); err != nil {
			return 0, 0, err
		}
		now := comm.Now()
		if begun == 0 {
			begun = now
		} else {
			bytes, ns = bytes+int64(len(block)), now-begun
		}
		if block[0] == last {
			return bytes, ns, nil
		}
	}
}

// read fills a buffer, and write writes one, unless the connection stands still.
func read(c net.Conn, data []byte) error { return readWithin(c, data, stall) }

func readWithin(c net.Conn, data []byte, limit time.Duration) error {
	for len(data) > 0 {
		if err := c.SetReadDeadline(time.Now().Add(limit)); err != nil {
			return err
		}
		n, err := c.Read(data)
		if data = data[n:]; err != nil && len(data) > 0 {
			if errors.Is(err, io.EOF) {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

func write(c net.Conn, data []byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(stall)); err != nil {
		return err
	}
	_, err := c.Write(data)
	return err
}
