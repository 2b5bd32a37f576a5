package shm

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sizeSeals are the seals that fix a segment's size for good.
const sizeSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// Segment is a region of shared memory. One process owns it, and its peers map
// it.
type Segment struct {
	name    string
	fd      int
	size    int    // requested size in bytes
	mapping []byte // whole pages
	reading []byte // a second, read-only mapping of the same pages; nil until ReadOnly
	closing sync.Once
}

// New makes a segment of size bytes, all zero, whose size is sealed. The name
// appears in /proc/PID/maps and in errors. With touch set, New first compares
// the size with the available memory (see Reserve) and then touches every page,
// so that no page fault happens later. Otherwise pages are allocated at their
// first use.
func New(name string, size int, touch bool) (*Segment, error) {
	length, err := wholePages(name, size)
	if err != nil {
		return nil, err
	}
	if touch {
		if err := Reserve(name, int64(length)); err != nil {
			return nil, err
		}
	}
	fd, err := memoryFile(name)
	if err != nil {
		return nil, err
	}
	if err := fix(fd, length); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("segment %q cannot get its size of %s: %w", name, sizeText(length), err)
	}
	return mapped(name, fd, size, length, false, touch)
}

// Open maps the segment of size bytes behind fd and owns fd afterwards: it
// closes fd with the segment, or at once after an error. Open refuses memory
// that is not sealed against shrinking and growing, and memory of any other
// size. With readOnly set, writing to the segment's bytes kills the process.
// With prefault set, Open maps all pages now, so that no page fault happens
// later.
func Open(fd int, size int, readOnly, prefault bool) (*Segment, error) {
	name := nameOf(fd)
	length, err := wholePages(name, size)
	if err == nil {
		err = check(name, fd, length)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return mapped(name, fd, size, length, readOnly, prefault)
}

// Bytes returns the memory of the segment, size bytes. Nothing may use it once
// the segment is closed.
func (s *Segment) Bytes() []byte { return s.mapping[:s.size:s.size] }

// ReadOnly returns a second mapping of the segment, which the owner passes to
// code that must not write. Writing there kills the process; Bytes stays
// writable. Call ReadOnly at most once.
func (s *Segment) ReadOnly() ([]byte, error) {
	var err error
	if s.reading, err = unix.Mmap(s.fd, 0, len(s.mapping), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("segment %q of %s cannot be mapped for reading: %w%s", s.name, sizeText(len(s.mapping)),
			err, mappingLimit(err))
	}
	return s.reading[:s.size:s.size], nil
}

// FD returns the descriptor to pass on. The segment still owns it.
func (s *Segment) FD() int { return s.fd }

// SealWriting forbids writing to the segment for good, except through existing
// mappings. The owner calls it after writing the data for its peers and before
// passing the descriptor on. SealWriting needs Linux 5.1 or later.
func (s *Segment) SealWriting() error {
	if _, err := unix.FcntlInt(uintptr(s.fd), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE); err != nil {
		return fmt.Errorf("segment %q cannot be sealed against writing: %w", s.name, err)
	}
	return nil
}

// ReadOnlySealed reports whether the segment is sealed against writing.
func (s *Segment) ReadOnlySealed() bool {
	seals, err := unix.FcntlInt(uintptr(s.fd), unix.F_GET_SEALS, 0)
	return err == nil && seals&(unix.F_SEAL_FUTURE_WRITE|unix.F_SEAL_WRITE) != 0
}

// Close unmaps the segment and closes its descriptor. Closing again does nothing.
func (s *Segment) Close() error {
	var err error
	s.closing.Do(func() {
		err = errors.Join(unix.Munmap(s.mapping), unix.Close(s.fd))
		if s.reading != nil {
			err = errors.Join(err, unix.Munmap(s.reading))
		}
	})
	return err
}

// wholePages rounds size up to whole pages.
func wholePages(name string, size int) (int, error) {
	page := os.Getpagesize()
	if size <= 0 || size > math.MaxInt-page {
		return 0, fmt.Errorf("segment %q cannot have %d bytes: it must have 1 to %d", name, size,
			math.MaxInt-page)
	}
	return (size + page - 1) / page * page, nil
}

// memoryFile makes an empty memfd that can be sealed. From Linux 6.3 on, the
// memfd can never be executed.
func memoryFile(name string) (int, error) {
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return -1, fmt.Errorf("segment %q cannot be made: %w%s", name, err, descriptorLimit(err))
	}
	return fd, nil
}

// fix sets the size of an empty file for good.
func fix(fd, length int) error {
	if err := unix.Ftruncate(fd, int64(length)); err != nil {
		return err
	}
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, sizeSeals)
	return err
}

// check returns an error if the file behind fd cannot be a segment of length
// bytes.
func check(name string, fd, length int) error {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("descriptor %d (%s) is no segment, because it has no seals: %w", fd, name, err)
	}
	if seals&sizeSeals != sizeSeals {
		return fmt.Errorf(
			"segment %q is not sealed: its seals are %#x, but it must have F_SEAL_SHRINK and F_SEAL_GROW (%#x)", name,
			seals, sizeSeals)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("the size of segment %q cannot be read: %w", name, err)
	}
	if stat.Size != int64(length) {
		return fmt.Errorf("segment %q has %d bytes, but %d were agreed on", name, stat.Size, length)
	}
	return nil
}

// mapped maps the segment behind fd. After an error it closes fd.
func mapped(name string, fd, size, length int, readOnly, touch bool) (*Segment, error) {
	protection, advice := unix.PROT_READ|unix.PROT_WRITE, unix.MADV_POPULATE_WRITE
	if readOnly {
		protection, advice = unix.PROT_READ, unix.MADV_POPULATE_READ
	}
	mapping, err := unix.Mmap(fd, 0, length, protection, unix.MAP_SHARED)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("segment %q of %s cannot be mapped: %w%s", name, sizeText(length), err,
			mappingLimit(err))
	}
	s := &Segment{name: name, fd: fd, size: size, mapping: mapping}
	if touch {
		if err := populate(mapping, advice); err != nil {
			_ = s.Close()
			return nil, fmt.Errorf("the %s of segment %q cannot be touched: %w", sizeText(length), name, err)
		}
	}
	return s, nil
}

// Prefault maps the pages of at, so that no page fault happens there later. at
// must be writable bytes of a segment.
func Prefault(at []byte) error {
	if len(at) == 0 {
		return nil
	}
	first := unsafe.Pointer(unsafe.SliceData(at))
	before := int(uintptr(first) % uintptr(os.Getpagesize())) // #nosec G115 -- less than a page
	whole := unsafe.Slice((*byte)(unsafe.Add(first, -before)), before+len(at))
	if err := populate(whole, unix.MADV_POPULATE_WRITE); err != nil {
		return fmt.Errorf("%s of a segment cannot be touched: %w", sizeText(len(at)), err)
	}
	return nil
}

// populate fills the page tables of a mapping, with the given madvise advice.
func populate(mapping []byte, advice int) error {
	err := unix.Madvise(mapping, advice)
	for errors.Is(err, unix.EINTR) {
		err = unix.Madvise(mapping, advice)
	}
	if !errors.Is(err, unix.EINVAL) {
		return err
	}
	// Before Linux 5.14 populate loads a word of each page. For shared memory a
	// load has the effect of a store: it allocates the page, and maps it
	// writable if the mapping is writable. The load is atomic because a peer
	// may write meanwhile, and because the compiler must not remove it.
	for at := 0; at < len(mapping); at += os.Getpagesize() {
		(*atomic.Uint32)(unsafe.Pointer(&mapping[at])).Load()
	}
	return nil
}

// nameOf returns the memfd's name, or a description of fd if it is no memfd.
func nameOf(fd int) string {
	target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return fmt.Sprintf("descriptor %d", fd)
	}
	return strings.TrimSuffix(strings.TrimPrefix(target, "/memfd:"), " (deleted)")
}

// mappingLimit returns a suffix for the error of a failed mapping. The suffix
// names the limit that is the likely cause.
func mappingLimit(err error) string {
	var limit unix.Rlimit
	if !errors.Is(err, unix.ENOMEM) || unix.Getrlimit(unix.RLIMIT_AS, &limit) != nil ||
		limit.Cur == unix.RLIM_INFINITY {
		return ""
	}
	return fmt.Sprintf(": the address space limit (RLIMIT_AS) is %s", sizeText(limit.Cur))
}

// descriptorLimit returns a suffix for the error of a descriptor that could not
// be opened. The suffix names the limit that is the likely cause.
func descriptorLimit(err error) string {
	var limit unix.Rlimit
	if !errors.Is(err, unix.EMFILE) || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return ""
	}
	return fmt.Sprintf(": the limit of descriptors (RLIMIT_NOFILE) is %d", limit.Cur)
}
