package clicklog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	// maxLine limits the bytes of a line.
	maxLine = 1 << 20
	// readBytes is the size of one read. This needs few calls, and the block stays in a core's cache.
	readBytes = 256 << 10
)

// lines cuts a stream into lines. lines keeps the current block of the stream in memory.
type lines struct {
	in       io.Reader
	block    []byte
	from, to int   // the part of the block not yet returned
	start    int   // start of the last line
	line     int64 // number of the line that next returned last, from 1
	end      error // the error that ended the stream
	blank    bool  // next has passed over a blank line
	// separator also counts as blank: a line of separators alone is blank. 0: no separator.
	separator byte
}

// next returns the next line that is not blank, without its line end, and io.EOF after the last line. The line is
// valid until the next call. If the stream breaks in the middle of a line, next does not return that line.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.any()
		if err != nil || len(line) > 0 && line[0] > ' ' && line[0] != l.separator || !l.isBlank(line) {
			return line, err
		}
		l.blank = true
	}
}

// isBlank reports whether a line consists of spaces and separators alone. Spreadsheets leave such lines after a
// table.
func (l *lines) isBlank(line []byte) bool {
	return !bytes.ContainsFunc(line, func(c rune) bool { return c != ' ' && c != '\r' && c != rune(l.separator) })
}

// any returns the next line, blank or not.
func (l *lines) any() ([]byte, error) {
	for {
		if n := bytes.IndexByte(l.block[l.from:l.to], '\n'); n >= 0 {
			return l.take(l.from+n, l.from+n+1), nil
		}
		if l.fill() {
			continue
		}
		if errors.Is(l.end, io.EOF) && l.from < l.to {
			return l.take(l.to, l.to), nil
		}
		return nil, l.end
	}
}

// take returns the line that ends at end and moves on to next, the byte after its line end.
func (l *lines) take(end, next int) []byte {
	l.start, l.from = l.from, next
	l.line++
	line := l.block[l.start:end]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

// unread makes next return the last line again.
func (l *lines) unread() { l.from, l.line = l.start, l.line-1 }

// skip skips n lines, or all remaining lines if there are fewer, and returns how many it skipped. Skipping is fast
// if no line is blank.
func (l *lines) skip(n int64, blank bool) (skipped int64, err error) {
	for skipped < n && !blank {
		ends := int64(bytes.Count(l.block[l.from:l.to], []byte{'\n'}))
		if skipped+ends >= n {
			break
		}
		if last := bytes.LastIndexByte(l.block[l.from:l.to], '\n'); last >= 0 {
			l.from += last + 1
		}
		skipped += ends
		l.line += ends
		if !l.fill() {
			break
		}
	}
	for skipped < n {
		if _, err := l.next(); err != nil {
			return skipped, err
		}
		skipped++
	}
	return skipped, nil
}

// fill moves the unread part to the start of the block and reads more. fill returns false at the end of the stream.
func (l *lines) fill() bool {
	if l.end != nil {
		return false
	}
	l.to = copy(l.block, l.block[l.from:l.to])
	l.from = 0
	if l.to == len(l.block) {
		l.end = fmt.Errorf("the next line is longer than %d bytes", maxLine)
		return false
	}
	n, err := l.in.Read(l.block[l.to:min(len(l.block), l.to+readBytes)])
	l.to += n
	l.end = err
	return n > 0 || err == nil
}
