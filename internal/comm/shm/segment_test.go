package shm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/comm/commtest"
)

// newSegment makes a segment and closes it at the end of the test.
func newSegment(t testing.TB, size int) *Segment {
	t.Helper()
	s, err := New("trainer0", size, true)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestTwoMappingsAreOneMemory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 5*os.Getpagesize()).Draw(rt, "size")
		touch, prefault := rapid.Bool().Draw(rt, "touch"), rapid.Bool().Draw(rt, "prefault")
		at := rapid.IntRange(0, size-1).Draw(rt, "at")

		owner, err := New("trainer0", size, touch)
		must(t, err)
		defer func() { _ = owner.Close() }()
		neighbour, err := Open(duplicate(t, owner.FD()), size, false, prefault)
		must(t, err)
		defer func() { _ = neighbour.Close() }()
		reader, err := Open(duplicate(t, owner.FD()), size, true, prefault)
		must(t, err)
		defer func() { _ = reader.Close() }()

		seen, err := owner.ReadOnly()
		must(t, err)

		if len(owner.Bytes()) != size || len(seen) != size || cap(owner.Bytes()) != size ||
			len(reader.Bytes()) != size {
			t.Fatalf("the mappings have %d and %d bytes, want %d", len(owner.Bytes()), len(reader.Bytes()), size)
		}
		if !bytes.Equal(owner.Bytes(), make([]byte, size)) {
			t.Fatalf("a new segment is not zero")
		}
		owner.Bytes()[at] = 1
		neighbour.Bytes()[at]++
		if got := reader.Bytes()[at]; got != 2 || seen[at] != 2 {
			t.Fatalf("byte %d of %d is %d and %d after two writes, want 2", at, size, got, seen[at])
		}
	})
}

func TestTouchedPagesAreThere(t *testing.T) {
	commtest.NeedsKernel(t, "MADV_POPULATE_WRITE")
	for _, touch := range []bool{false, true} {
		t.Run(fmt.Sprint(touch), func(t *testing.T) {
			s, err := New("trainer0", 1<<20, touch)
			must(t, err)
			var stat unix.Stat_t
			must(t, unix.Fstat(s.FD(), &stat))
			want := map[bool]int64{false: 0, true: 1 << 20}[touch]
			if got := stat.Blocks * 512; got != want {
				t.Errorf("touch %v: the segment has %d bytes of memory, want %d", touch, got, want)
			}
			must(t, s.Close())
		})
	}
}

func TestSizeIsSealed(t *testing.T) {
	s := newSegment(t, 3*os.Getpagesize())
	for _, size := range []int{0, os.Getpagesize(), 4 * os.Getpagesize()} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			if err := unix.Ftruncate(s.FD(), int64(size)); !errors.Is(err, unix.EPERM) {
				t.Errorf("the segment can be cut to %d bytes: %v", size, err)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for _, size := range []int{0, -1, math.MinInt, math.MaxInt} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			_, err := New("trainer0", size, false)
			requireError(t, err, `"trainer0"`, strconv.Itoa(size), "it must have 1 to")
		})
	}
	_, err := New("trainer0", math.MaxInt-2*os.Getpagesize(), false)
	requireError(t, err, `"trainer0"`, "cannot")
	_, err = New("trainer0", math.MaxInt-2*os.Getpagesize(), true)
	requireError(t, err, "trainer0", "EiB", "does not fit")
	_, err = New(strings.Repeat("x", 300), 1, false)
	requireError(t, err, "cannot be made")
}

func TestOpenRefuses(t *testing.T) {
	page := os.Getpagesize()
	sealed := newSegment(t, 2*page)
	memory := func(seals int) func() int {
		return func() int {
			fd, err := unix.MemfdCreate("liar", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
			must(t, err)
			must(t, unix.Ftruncate(fd, int64(2*page)))
			_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
			must(t, err)
			return fd
		}
	}
	file := func(path string) func() int {
		return func() int {
			fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
			must(t, err)
			return fd
		}
	}
	onDisk := t.TempDir() + "/file"
	must(t, os.WriteFile(onDisk, make([]byte, 2*page), 0o600))

	cases := map[string]struct {
		fd   func() int
		size int
		want []string
	}{
		"unsealed": {memory(0), 2 * page,
			[]string{`"liar" is not sealed`, "F_SEAL_SHRINK and F_SEAL_GROW"}},
		"may grow":   {memory(unix.F_SEAL_SHRINK), 2 * page, []string{`"liar" is not sealed`}},
		"may shrink": {memory(unix.F_SEAL_GROW), 2 * page, []string{`"liar" is not sealed`}},
		"too large": {func() int { return duplicate(t, sealed.FD()) }, page,
			[]string{`"trainer0"`, strconv.Itoa(2 * page), strconv.Itoa(page) + " were agreed on"}},
		"too small": {func() int { return duplicate(t, sealed.FD()) }, 3 * page,
			[]string{`"trainer0"`, strconv.Itoa(2 * page), strconv.Itoa(3*page) + " were agreed on"}},
		"nothing agreed on": {func() int { return duplicate(t, sealed.FD()) }, 0,
			[]string{`"trainer0"`, "0 bytes"}},
		"a file on disk":       {file(onDisk), 2 * page, []string{onDisk, "is no segment"}},
		"a device":             {file("/dev/zero"), 2 * page, []string{"/dev/zero", "is no segment"}},
		"a descriptor of none": {func() int { return -1 }, page, []string{"descriptor -1", "is no segment"}},
		"sealed against writes": {memory(sizeSeals | unix.F_SEAL_FUTURE_WRITE), 2 * page,
			[]string{`"liar"`, "cannot be mapped", "operation not permitted"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before := openDescriptors(t)
			_, err := Open(c.fd(), c.size, false, true)
			requireError(t, err, c.want...)
			if after := openDescriptors(t); after != before {
				t.Errorf("%d descriptors were open before and %d after", before, after)
			}
		})
	}
}

func TestSealWriting(t *testing.T) {
	s := newSegment(t, 100)
	early, err := Open(duplicate(t, s.FD()), 100, false, false)
	must(t, err)
	defer func() { _ = early.Close() }()
	if s.ReadOnlySealed() {
		t.Errorf("a new segment is sealed against writing")
	}
	must(t, s.SealWriting())
	if !s.ReadOnlySealed() {
		t.Errorf("a segment that was sealed against writing is not")
	}
	s.Bytes()[7] = 42 // existing mappings stay writable

	reader, err := Open(duplicate(t, s.FD()), 100, true, true)
	must(t, err)
	defer func() { _ = reader.Close() }()
	if reader.Bytes()[7] != 42 || !reader.ReadOnlySealed() {
		t.Errorf("a neighbour reads %d, sealed %v; want 42, true", reader.Bytes()[7], reader.ReadOnlySealed())
	}
	if err := unix.Mprotect(reader.Bytes(), unix.PROT_READ|unix.PROT_WRITE); err == nil {
		t.Errorf("a neighbour made its mapping writable")
	}
	_, err = unix.Pwrite(s.FD(), []byte{1}, 0)
	if !errors.Is(err, unix.EPERM) {
		t.Errorf("the file can be written: %v", err)
	}
}

func TestCloseTwice(t *testing.T) {
	s, err := New("trainer0", 1, false)
	must(t, err)
	must(t, s.Close())
	must(t, s.Close())
}

// The kernel must free everything that a helper does not close; this is the
// reason for using a memfd.
func TestSegmentBetweenProcesses(t *testing.T) {
	s := newSegment(t, 1<<20)
	s.Bytes()[1<<20-1] = 17
	h := start(t, "open and answer")
	must(t, SendFDs(h.conn, []byte("question"), s.FD()))
	payload := make([]byte, len("answer"))
	fds, err := ReceiveFDs(h.conn, payload, 1)
	must(t, err)
	h.wait(t)

	answer, err := Open(fds[0], 4096, true, true)
	must(t, err)
	defer func() { _ = answer.Close() }()
	if got := s.Bytes()[0]; got != 18 {
		t.Errorf("the helper wrote %d into the segment, want 18", got)
	}
	if got := string(answer.Bytes()[:5]); got != "hello" || !answer.ReadOnlySealed() {
		t.Errorf("the helper's segment has %q, sealed %v; want hello, true", got, answer.ReadOnlySealed())
	}
}

func helpOpenAndAnswer(c *net.UnixConn) error {
	fds, err := ReceiveFDs(c, make([]byte, len("question")), 1)
	if err != nil {
		return err
	}
	s, err := Open(fds[0], 1<<20, false, true)
	if err != nil {
		return err
	}
	s.Bytes()[0] = s.Bytes()[1<<20-1] + 1
	own, err := New("server0", 4096, true)
	if err != nil {
		return err
	}
	copy(own.Bytes(), "hello")
	return errors.Join(own.SealWriting(), SendFDs(c, []byte("answer"), own.FD()))
}

// footprint counts the kernel resources of a process.
type footprint struct{ descriptors, maps, residentKiB int }

func readFootprint(t *testing.T) footprint {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	must(t, err)
	statm, err := os.ReadFile("/proc/self/statm")
	must(t, err)
	var size, resident int
	_, err = fmt.Sscan(string(statm), &size, &resident)
	must(t, err)
	return footprint{openDescriptors(t), bytes.Count(maps, []byte("\n")), resident * os.Getpagesize() / 1024}
}

func TestNothingIsLeftOfManySegments(t *testing.T) {
	const size = 2 << 20
	a, b := socketPair(t)
	round := func() {
		owner, err := New("trainer0", size, true)
		must(t, err)
		must(t, SendFDs(a, []byte("x"), owner.FD()))
		fds, err := ReceiveFDs(b, make([]byte, 1), 1)
		must(t, err)
		neighbour, err := Open(fds[0], size, false, true)
		must(t, err)
		_, err = Open(duplicate(t, owner.FD()), size+1<<20, false, true)
		requireError(t, err, "were agreed on")
		must(t, neighbour.Close())
		must(t, owner.Close())
	}
	round()
	before := readFootprint(t)
	for range 100 {
		round()
	}
	after := readFootprint(t)
	// Go's own heap may add a few maps and pages. A leak would add at least 100
	// descriptors, 100 maps or 200 MiB.
	if after.descriptors != before.descriptors || after.maps > before.maps+20 ||
		after.residentKiB > before.residentKiB+100<<10 {
		t.Errorf("100 segments were made and closed: %+v before, %+v after", before, after)
	}
}
