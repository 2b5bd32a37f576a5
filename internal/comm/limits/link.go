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

// Link holds the measured limits of a link between two hosts.
type Link struct {
	// OutGBps is the rate from the measuring end to the other end; BackGBps is
	// the rate in the opposite direction. The two directions are measured one
	// after the other.
	OutGBps  float64 `json:"out_gbps"`
	BackGBps float64 `json:"back_gbps"`
	// RoundTripUS is the median round-trip time of a few bytes on an idle link.
	RoundTripUS float64 `json:"round_trip_us"`
}

// Requests of the measuring end, one byte each.
const (
	echo byte = iota // send the next byte back
	take             // receive blocks, then send the time that they took
	give             // send blocks for a time
	done
)

// linkBytes is the size of a block. A link of 1 Mbit/s carries one block per
// second.
const linkBytes = 128 << 10

// trips is the maximum number of round trips.
const trips = 200

// The first byte of a block says whether more blocks follow.
const (
	last byte = iota
	more
)

// MeasureLink measures the link between two hosts over connections whose other
// ends run ServeLink. MeasureLink times round trips on the first connection,
// then transfers on all connections together, first out and then back. Each
// measurement takes a third of the time. The connections carry only reads and
// writes. If a connection stalls for 5 s, MeasureLink returns an error; close
// the connections to stop earlier.
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

// ServeLink serves one connection of MeasureLink and returns when MeasureLink
// is done. ServeLink drops received bytes and sends only zeros. The caller must
// have authenticated the peer.
func ServeLink(c net.Conn) error {
	for {
		var asked [1]byte
		if err := readWithin(c, asked[:], longest); err != nil { // other connections may be measured first
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
			err = fmt.Errorf("%v asks for %d, which is no step of a link measurement", c.RemoteAddr(), asked[0])
		}
		if err != nil {
			return err
		}
	}
}

// together runs do on all connections at once and adds up the rates.
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

// out sends blocks for the given time and reads the rate that the receiver
// measured.
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

// back asks the other end to send blocks for the given time, and receives them.
func back(c net.Conn, during time.Duration) (gbps float64, err error) {
	if err := write(c, binary.LittleEndian.AppendUint64([]byte{give}, uint64(during))); err != nil { // #nosec G115 -- a duration
		return 0, err
	}
	bytes, ns, err := receiveBlocks(c)
	return float64(bytes) / float64(max(1, ns)), err
}

// longest is the maximum time for which ServeLink sends, or waits for a
// request.
const longest = time.Minute

func serveGive(c net.Conn) error {
	var asked [8]byte
	if err := read(c, asked[:]); err != nil {
		return err
	}
	during := min(binary.LittleEndian.Uint64(asked[:]), uint64(longest))
	return sendBlocks(c, time.Duration(during)) // #nosec G115 -- a minute at most
}

// sendBlocks sends blocks for the given time, but at least two: the first block
// starts the receiver's clock.
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

// receiveBlocks receives blocks up to the last. receiveBlocks returns the bytes
// after the first block and the time that they took.
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

// read fills a buffer and write writes one. read and write fail if the
// connection stalls.
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
