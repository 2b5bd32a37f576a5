// Package npy writes and reads columns of numbers in files that numpy can load. The format is 1.0, with one dimension
// of int64 or float64 in little-endian order. docs/result.md describes the contents.
package npy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"
	"strconv"
)

// Type is the type of the elements, as numpy names it.
type Type string

// These are the supported types of elements.
const (
	Int64   Type = "<i8"
	Float64 Type = "<f8"
)

const (
	magic        = "\x93NUMPY\x01\x00"
	elementBytes = 8
	alignBytes   = 64 // alignment of the first element, in bytes
	// mostHeader limits the header that is read, in bytes. numpy's header of a column has at most 128 bytes.
	mostHeader = 4096
	bufferSize = 1 << 16
)

// header returns all bytes before the elements.
func header(t Type, count int) []byte {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }", t, count)
	fixed := len(magic) + 2
	length := (fixed+len(dict)+1+alignBytes-1)/alignBytes*alignBytes - fixed
	h := append([]byte(magic), 0, 0)
	binary.LittleEndian.PutUint16(h[len(magic):], uint16(length)) // #nosec G115 -- 54 or 118
	h = append(h, dict...)
	for len(h) < fixed+length-1 {
		h = append(h, ' ')
	}
	return append(h, '\n')
}

// Writer writes a column. The methods of Writer report errors only through Close.
type Writer struct {
	to    *bufio.Writer
	sum   *summed
	count int
	left  int
}

// NewWriter starts a column with count elements.
func NewWriter(w io.Writer, t Type, count int) *Writer {
	sum := &summed{to: w}
	out := &Writer{to: bufio.NewWriterSize(sum, bufferSize), sum: sum, count: count, left: count}
	_, _ = out.to.Write(header(t, count))
	return out
}

// Put appends an element, which is given by its bits.
func (w *Writer) Put(bits uint64) {
	w.left--
	_, _ = w.to.Write(binary.LittleEndian.AppendUint64(w.to.AvailableBuffer(), bits))
}

// Close finishes the column and returns the CRC-32 of the file, as Python's zlib.crc32 computes it.
func (w *Writer) Close() (crc uint32, err error) {
	if err := w.to.Flush(); err != nil {
		return 0, err
	}
	if w.left != 0 {
		return 0, fmt.Errorf("the column does not have the %d elements that it must have", w.count)
	}
	return w.sum.crc, nil
}

// summed computes the checksum of the bytes that it passes on.
type summed struct {
	to  io.Writer
	crc uint32
}

func (s *summed) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.crc = crc32.Update(s.crc, crc32.IEEETable, p[:n])
	return n, err
}

// Reader reads a column.
type Reader struct {
	Type  Type
	Count int

	in   *bufio.Reader
	crc  uint32
	left int
	err  error
}

var dictionary = regexp.MustCompile(
	`^\{'descr': '([<>|=]\w{2,})', 'fortran_order': False, 'shape': \((\d{1,18}),\), \} *\n$`)

// NewReader reads the header of a file. size is the size of the file in bytes. If size does not fit the header,
// NewReader returns an error.
func NewReader(r io.Reader, size int64) (*Reader, error) {
	c := &Reader{}
	c.in = bufio.NewReaderSize(io.TeeReader(r, crcOf{&c.crc}), bufferSize)
	fixed := make([]byte, len(magic)+2)
	if _, err := io.ReadFull(c.in, fixed); err != nil || string(fixed[:len(magic)]) != magic {
		return nil, errors.New("it is not a numpy file of format 1.0")
	}
	length := int(binary.LittleEndian.Uint16(fixed[len(magic):]))
	if length > mostHeader {
		return nil, fmt.Errorf("its header has %d bytes, more than the %d of any column", length, mostHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(c.in, text); err != nil {
		return nil, errors.New("it ends within its header")
	}
	match := dictionary.FindSubmatch(text)
	if match == nil {
		return nil, errors.New("its header does not describe a column, an array of one dimension")
	}
	if c.Type = Type(match[1]); c.Type != Int64 && c.Type != Float64 {
		return nil, fmt.Errorf("its elements are %s, but must be %s or %s", c.Type, Int64, Float64)
	}
	count, err := strconv.Atoi(string(match[2]))
	if err != nil {
		return nil, err
	}
	if have := size - int64(len(fixed)+length); have%elementBytes != 0 || have/elementBytes != int64(count) {
		return nil, fmt.Errorf("it has %d bytes of elements, but its header says %d elements of %d bytes", have, count,
			elementBytes)
	}
	c.Count, c.left = count, count
	return c, nil
}

// crcOf computes the checksum of the bytes that the buffered reader reads.
type crcOf struct{ sum *uint32 }

func (c crcOf) Write(p []byte) (int, error) {
	*c.sum = crc32.Update(*c.sum, crc32.IEEETable, p)
	return len(p), nil
}

// Next returns the bits of the next element. After an error, Next returns 0, and Check returns the error.
func (c *Reader) Next() uint64 {
	if c.err != nil {
		return 0
	}
	bytes, err := c.in.Peek(elementBytes)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it ends before its last element")
		}
		c.err = err
		return 0
	}
	_, _ = c.in.Discard(elementBytes)
	c.left--
	return binary.LittleEndian.Uint64(bytes)
}

// Check returns an error if reading failed, if not all elements were read, or if the checksum is not crc.
func (c *Reader) Check(crc uint32) error {
	switch {
	case c.err != nil:
		return c.err
	case c.left != 0:
		return fmt.Errorf("%d of its %d elements belong to no list", c.left, c.Count)
	case c.crc != crc:
		return fmt.Errorf("its content has changed: its CRC-32 is %08x, but was %08x", c.crc, crc)
	}
	return nil
}
