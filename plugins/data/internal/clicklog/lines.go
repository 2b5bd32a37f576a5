package clicklog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	// maxLine bounds the bytes of a line.
	maxLine = 1 << 20
	// readBytes are read at once: few calls, and the block stays in a core's cache.
	readBytes = 256 << 10
)

// lines cuts a stream into lines, in a block of memory that it keeps.
type lines struct {
	in       io.Reader
	block    []byte
	from, to int   // what of the block is still to come
	start    int   // of the last line
	line     int64 // that next returned last, from 1
	end      error // what ended the stream
	blank    bool  // a blank line was passed over
	// separator is what a line of nothing else is blank by too; 0: none.
	separator byte
}

// next returns the next line that is not blank, without its line end, valid until the next call, and
// io.EOF after the last one. A stream that breaks in the middle of a line does not return that.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.any()
		if err != nil || len(line) > 0 && line[0] > ' ' && line[0] != l.separator || !l.isBlank(line) {
			return line, err
		}
		l.blank = true
	}
}

// isBlank says whether a line has spaces and separators alone, as those that spreadsheets leave after a table.
func (l *lines) isBlank(line []byte) bool {
	return !bytes.ContainsFunc(line, func(c rune) bool { return c != ' ' && c != '\r' && c != rune(l.separator) })
}

// any returns the next line, as next does.
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

// take passes over a line that ends there, and whose line end ends after it.
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

// skip passes over n lines, or those that are left, and returns how many. It is fast where none is blank.
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

// fill moves what is still to come to the start of the block and reads on. It returns
// false when nothing more comes.
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
