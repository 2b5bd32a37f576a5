package clicklog

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/plugins/data/internal/datafile"
)

// next returns the next line of the files, and io.EOF after the last one.
func (r *Reader) next() ([]byte, error) {
	for {
		if err := r.enter(); err != nil {
			return nil, err
		}
		line, err := r.lines.next()
		if err == nil {
			return line, nil
		}
		if err := r.leave(err); err != nil {
			return nil, err
		}
	}
}

// skipLines skips n lines of the files, or all remaining lines if there are fewer.
func (r *Reader) skipLines(n int64) error {
	for n > 0 {
		err := r.enter()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		skipped, err := r.lines.skip(n, r.passed.blank)
		n -= skipped
		if err == nil {
			continue
		}
		if err := r.leave(err); err != nil {
			return err
		}
	}
	return nil
}

// enter makes sure that a file is open and positioned before a line that is no header. enter returns io.EOF if no
// file is left.
func (r *Reader) enter() error {
	for r.stream == nil {
		if r.file == len(r.log.Files) {
			return r.end()
		}
		if err := r.open(r.log.Files[r.file]); err != nil {
			return err
		}
	}
	return nil
}

// end records in the log what this reader has read, and returns io.EOF.
func (r *Reader) end() error {
	if r.passed == nil {
		if files := r.log.Files; r.sample == 0 && len(files) > 1 {
			return fmt.Errorf("the %d data files from %s to %s hold no samples", len(files), files[0].Shown(),
				files[len(files)-1].Shown())
		}
		r.log.pass(&pass{samples: r.sample, malformed: r.malformed, last: r.last, blank: r.lines.blank})
	}
	return io.EOF
}

// open opens a file. open closes an empty file again at once.
func (r *Reader) open(f datafile.File) (err error) {
	r.first, r.bad = r.sample, len(r.malformed)
	r.lines = lines{block: r.lines.block, blank: r.lines.blank}
	if r.stream, err = f.OpenText(r.log.Compression); err != nil {
		return err
	}
	r.lines.in = r.stream
	line, err := r.lines.next()
	if err != nil {
		return r.leave(err)
	}
	r.begin(line)
	return nil
}

// begin finds the column separator from the first line of a file. begin unreads that line unless the line is a
// header.
func (r *Reader) begin(line []byte) {
	r.parser.separator = r.log.Separator
	if r.parser.separator == 0 {
		r.parser.separator = ','
		if bytes.IndexByte(line, '\t') >= 0 {
			r.parser.separator = '\t'
		}
	}
	r.lines.separator = r.parser.separator
	if !isHeader(line, r.parser.separator) {
		r.lines.unread()
	}
}

// isHeader reports whether a line is a header: it has as many columns as a sample, no numbers, and a column that is
// not empty.
func isHeader(line []byte, separator byte) bool {
	if bytes.Count(line, []byte{separator}) != columns-1 || len(line) == columns-1 {
		return false
	}
	for field := range bytes.SplitSeq(line, []byte{separator}) {
		if numeral.Like(numeral.Truth(string(field))) {
			return false
		}
	}
	return true
}

// leave closes the file if it was read to its end; otherwise it returns the error that ended the reading.
func (r *Reader) leave(end error) error {
	name := r.log.Files[r.file].Shown()
	if !errors.Is(end, io.EOF) {
		return fmt.Errorf("data file %s, after line %d: %w", name, r.lines.line, end)
	}
	// If a job has more writers than samples, some of its files are empty.
	if empty := len(r.log.Files) > 1 && len(r.malformed) == r.bad; r.passed == nil && r.sample == r.first && !empty {
		if r.last != nil {
			return fmt.Errorf("data file %s holds no samples; the last malformed line: %w", name, r.last)
		}
		return fmt.Errorf("data file %s holds no samples", name)
	}
	r.file++
	return r.close()
}

// close closes the open file.
func (r *Reader) close() error {
	if r.stream == nil {
		return nil
	}
	err := r.stream.Close()
	r.stream = nil
	return err
}
