package limits

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm"
)

// loopbackBytes is the size of one read or write.
const loopbackBytes = 512 << 10

// stall is the timeout of a read or write that makes no progress.
const stall = 5 * time.Second

// Loopback measures TCP connections over the loopback device for the given
// time. Loopback returns the sum of received bytes per second in GB/s, one way
// or, with both set, in both directions at once. Each direction has a writing
// and a reading thread, which only write and read.
func Loopback(connections int, both bool, during time.Duration) (gbps float64, err error) {
	var ways [][2]int
	for range connections {
		a, b, err := connected()
		if err != nil {
			return 0, fmt.Errorf("loopback TCP cannot be measured: %w", err)
		}
		defer func() { _, _ = unix.Close(a), unix.Close(b) }()
		ways = append(ways, [2]int{a, b})
		if both {
			ways = append(ways, [2]int{b, a})
		}
	}
	until := comm.Now() + int64(during)
	rates, errs := make([]float64, len(ways)), make([]error, 2*len(ways))
	var all sync.WaitGroup
	for i, way := range ways {
		all.Go(func() { errs[2*i] = send(way[0], until) })
		all.Go(func() { rates[i], errs[2*i+1] = receive(way[1]) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, fmt.Errorf("loopback TCP cannot be measured: %w", err)
	}
	for _, rate := range rates {
		gbps += rate
	}
	return gbps, nil
}

// connected returns the two ends of a new TCP connection.
func connected() (a, b int, err error) {
	listener, err := socket()
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = unix.Close(listener) }()
	if err := unix.Bind(listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, 0, err
	}
	if err := unix.Listen(listener, 1); err != nil {
		return 0, 0, err
	}
	address, err := unix.Getsockname(listener)
	if err != nil {
		return 0, 0, err
	}
	if a, err = socket(); err != nil {
		return 0, 0, err
	}
	if err = connect(a, address); err == nil {
		b, err = accept(listener)
	}
	if err == nil {
		err = prepare(b)
	}
	if err != nil {
		_ = unix.Close(a)
		if b > 0 {
			_ = unix.Close(b)
		}
	}
	return a, b, err
}

// connect resumes after a signal interrupts it, as the Go runtime's connect
// does.
func connect(fd int, address unix.Sockaddr) error {
	for {
		err := unix.Connect(fd, address)
		switch {
		case errors.Is(err, unix.EISCONN): // an interrupted call had connected
			return nil
		case !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EALREADY):
			return err
		}
	}
}

func accept(listener int) (fd int, err error) {
	for {
		fd, _, err = unix.Accept4(listener, unix.SOCK_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func socket() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := prepare(fd); err != nil {
		_ = unix.Close(fd)
		return 0, err
	}
	return fd, nil
}

// prepare sets a socket's deadlines.
func prepare(fd int) error {
	limit := unix.NsecToTimeval(int64(stall))
	return errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit),
	)
}

// send writes for the given time and then closes its direction.
func send(fd int, until int64) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	buf := make([]byte, loopbackBytes)
	for n := 0; n < 2 || comm.Now() < until; n++ { // the first write starts the receiver's clock
		if _, err := unix.Write(fd, buf); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return unix.Shutdown(fd, unix.SHUT_WR)
}

// receive reads to the end and returns the rate, measured from the first byte
// on.
func receive(fd int) (gbps float64, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	buf := make([]byte, loopbackBytes)
	var begin, end, total int64
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0 && begin == 0:
			return 0, io.ErrUnexpectedEOF
		case n == 0:
			return float64(total) / float64(max(1, end-begin)), nil
		case begin == 0:
			begin = comm.Now()
			continue
		}
		total += int64(n)
		end = comm.Now()
	}
}
