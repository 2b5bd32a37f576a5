package clicklog

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/psbench/psbench/plugins/data/internal/split"
	"github.com/psbench/psbench/sdk"
)

// Reader reads the samples of a log in order. Reader implements sdk.SampleReader: a sample has its numbers as
// Features, a bag with one row for each category, and its label as the target. Between calls, the reader is
// positioned right after the line of a sample, or at the start.
type Reader struct {
	log    *Log
	split  split.Split
	passed *pass // result of a complete pass before this reader was opened; nil: none
	parser parser

	file      int           // the open file, or the next one
	stream    io.ReadCloser // the open file; nil: none is open
	lines     lines
	first     int64   // number of the file's first sample
	bad       int     // malformed lines before this file
	sample    int64   // number of the next sample, held-out samples included
	malformed []int64 // malformed lines read so far, in the form of pass
	last      error

	sources []source // sources of the samples of the last Read
	spare   struct {
		numbers [Numbers]float32
		rows    [Categories]int64
	}
}

// source is the place of a sample.
type source struct {
	file int
	line int64
}

var _ sdk.SampleReader = (*Reader)(nil)

// Read implements sdk.SampleReader.
func (r *Reader) Read(b *sdk.Batch, n int) error {
	b.Features = resize(b.Features, n*Numbers)
	b.Indices = resize(b.Indices, n*Categories)
	b.Targets = resize(b.Targets, n)
	b.Offsets = resize(b.Offsets, n+1)
	r.sources = resize(r.sources, n)
	got := 0
	for got < n {
		numbers := (*[Numbers]float32)(b.Features[got*Numbers:])
		rows := (*[Categories]int64)(b.Indices[got*Categories:])
		label, trained, err := r.readOne(numbers, rows)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if trained {
			b.Targets[got] = label
			r.sources[got] = source{r.file, r.lines.line}
			got++
		}
	}
	b.Features, b.Indices = b.Features[:got*Numbers], b.Indices[:got*Categories]
	b.Targets, b.Offsets, r.sources = b.Targets[:got], b.Offsets[:got+1], r.sources[:got]
	for i := range b.Offsets {
		b.Offsets[i] = int64(i * Categories)
	}
	if got == 0 && n > 0 {
		return io.EOF
	}
	return nil
}

func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// readOne reads the next sample, and reports whether it is a training sample.
func (r *Reader) readOne(numbers *[Numbers]float32, rows *[Categories]int64) (label int64, trained bool, err error) {
	for {
		line, err := r.next()
		if err != nil {
			return 0, false, err
		}
		label, ok := r.parser.parse(line, numbers, rows)
		if ok {
			r.sample++
			return label, !r.split.HeldOut(r.sample - 1), nil
		}
		if err := r.passOver(line); err != nil {
			return 0, false, err
		}
	}
}

// passOver counts a malformed line. passOver returns an error if there are too many.
func (r *Reader) passOver(line []byte) error {
	most := r.log.MaxMalformed
	r.last = fmt.Errorf("data file %s, line %d, %w", r.log.Files[r.file].Shown(), r.lines.line, r.parser.explain(line))
	if most == 0 {
		return r.last
	}
	if len(r.malformed) == most {
		return fmt.Errorf("more lines are malformed than the %d that max_bad_lines allows; the last: %w", most, r.last)
	}
	r.malformed = append(r.malformed, r.sample)
	return nil
}

// Skip implements sdk.SampleReader. After a complete pass, Skip counts lines without parsing them, because that
// pass has already found the malformed lines.
func (r *Reader) Skip(n int) error {
	if r.passed == nil {
		for skipped := 0; skipped < n; {
			_, trained, err := r.readOne(&r.spare.numbers, &r.spare.rows)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if trained {
				skipped++
			}
		}
		return nil
	}
	if n <= 0 || r.sample >= r.passed.samples {
		return nil
	}
	left := r.passed.samples - r.sample
	to := min(r.passed.samples, r.split.Trained(r.sample-r.split.Before(r.sample)+min(left, int64(n))))
	lines := to - r.sample + r.passed.between(r.sample, to)
	r.sample = to
	return r.skipLines(lines)
}

// Origin implements sdk.SampleReader.
func (r *Reader) Origin(sample, position int) string {
	return r.log.origin(r.sources[sample], position)
}

// Close implements sdk.SampleReader.
func (r *Reader) Close() error {
	r.file = len(r.log.Files)
	return r.close()
}
