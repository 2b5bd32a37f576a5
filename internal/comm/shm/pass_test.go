package shm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/comm/commtest"
)

// inode identifies the file behind a descriptor.
func inode(t testing.TB, fd int) uint64 {
	t.Helper()
	var stat unix.Stat_t
	must(t, unix.Fstat(fd, &stat))
	return stat.Ino
}

func TestPassDescriptors(t *testing.T) {
	files := make([]int, MaxFDs)
	for i := range files {
		fd, err := unix.MemfdCreate("passed", unix.MFD_CLOEXEC)
		must(t, err)
		defer func() { _ = unix.Close(fd) }()
		files[i] = fd
	}
	rapid.Check(t, func(rt *rapid.T) {
		a, b := socketPair(t)
		defer func() { _, _ = a.Close(), b.Close() }()
		payload := rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(rt, "payload")
		sent := rapid.IntRange(0, MaxFDs).Draw(rt, "sent")
		want := rapid.IntRange(0, MaxFDs).Draw(rt, "want")
		first := rapid.IntRange(1, len(payload)).Draw(rt, "bytes of the first piece")
		before := openDescriptors(t)

		must(t, SendFDs(a, payload[:first], files[:sent]...))
		_, err := a.Write(payload[first:])
		must(t, err)
		_, err = a.Write([]byte("next"))
		must(t, err)
		got := make([]byte, len(payload))
		fds, err := ReceiveFDs(b, got, want)

		if sent != want {
			requireError(t, err, "descriptors came")
			if after := openDescriptors(t); after != before {
				t.Fatalf("%d descriptors were open before and %d after", before, after)
			}
			return
		}
		must(t, err)
		if string(got) != string(payload) {
			t.Fatalf("the payload came as %q, want %q", got, payload)
		}
		if len(fds) != want {
			t.Fatalf("%d descriptors came, want %d", len(fds), want)
		}
		for i, fd := range fds {
			if inode(t, fd) != inode(t, files[i]) {
				t.Fatalf("descriptor %d is of another file", i)
			}
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
			must(t, err)
			if flags&unix.FD_CLOEXEC == 0 {
				t.Fatalf("descriptor %d would survive exec", i)
			}
		}
		CloseFDs(fds)
		next := make([]byte, 4)
		if _, err := io.ReadFull(b, next); err != nil || string(next) != "next" {
			t.Fatalf("after the message comes %q (%v), want %q", next, err, "next")
		}
	})
}

func TestLargePayload(t *testing.T) {
	a, b := socketPair(t)
	payload := []byte(strings.Repeat("0123456789abcdef", 1<<16))
	sent := make(chan error)
	go func() { sent <- SendFDs(a, payload, 2) }()
	got := make([]byte, len(payload))
	fds, err := ReceiveFDs(b, got, 1)
	must(t, errors.Join(err, <-sent))
	CloseFDs(fds)
	if string(got) != string(payload) {
		t.Errorf("1 MiB came back with other bytes")
	}
}

func TestReceiveRefuses(t *testing.T) {
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must(t, err)
	defer func() { _ = unix.Close(null) }()
	many := make([]int, 3*MaxFDs)
	for i := range many {
		many[i] = null
	}
	// piece is one write of the peer: bytes, and the number of descriptors sent
	// with them. Each case is a list of pieces.
	type piece struct {
		text string
		fds  int
	}
	cases := map[string]struct {
		pieces []piece
		close  bool
		want   []string
		is     error
	}{
		"too few":      {pieces: []piece{{"hello", 1}}, want: []string{"1 descriptors came, not the 2 agreed on"}},
		"too many":     {pieces: []piece{{"hello", 3}}, want: []string{"3 descriptors came, not the 2 agreed on"}},
		"far too many": {pieces: []piece{{"hello", 3 * MaxFDs}}, want: []string{"descriptors were lost"}},
		"more in each byte": {pieces: []piece{{"h", 2}, {"e", 2}, {"l", 2}, {"l", 2}, {"o", 2}},
			want: []string{"4 descriptors came"}},
		"ends at once": {close: true, want: []string{"0 of 5 bytes"}, is: io.ErrUnexpectedEOF},
		"ends early": {pieces: []piece{{"hel", 2}}, close: true, want: []string{"3 of 5 bytes"},
			is: io.ErrUnexpectedEOF},
		"stalls": {pieces: []piece{{"hel", 2}}, want: []string{"3 of 5 bytes"}, is: os.ErrDeadlineExceeded},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if name == "far too many" {
				commtest.NeedsKernel(t, "the end of descriptors that do not fit a message")
			}
			a, b := socketPair(t)
			must(t, b.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
			before := openDescriptors(t)
			for _, p := range c.pieces {
				_, _, err := a.WriteMsgUnix([]byte(p.text), unix.UnixRights(many[:p.fds]...), nil)
				must(t, err)
			}
			if c.close {
				must(t, a.Close())
				before--
			}
			fds, err := ReceiveFDs(b, make([]byte, 5), 2)
			requireError(t, err, c.want...)
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("the error %q does not wrap %q", err, c.is)
			}
			if after := openDescriptors(t); fds != nil || after != before {
				t.Errorf("%v came, %d descriptors were open before and %d after", fds, before, after)
			}
		})
	}
}

func TestPassLimits(t *testing.T) {
	a, b := socketPair(t)
	requireError(t, SendFDs(a, nil, 2), "0 bytes")
	requireError(t, SendFDs(a, []byte("x"), make([]int, MaxFDs+1)...), "17 descriptors")
	requireError(t, SendFDs(a, []byte("x"), -1), "1 descriptors were not sent")
	for _, want := range []int{-1, MaxFDs + 1} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			_, err := ReceiveFDs(b, make([]byte, 1), want)
			requireError(t, err, "cannot bring")
		})
	}
	_, err := ReceiveFDs(b, nil, 1)
	requireError(t, err, "0 bytes")
	must(t, b.Close())
	requireError(t, SendFDs(a, []byte("x"), 2), "broken pipe")
}
