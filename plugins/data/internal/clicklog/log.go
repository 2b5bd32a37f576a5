// Package clicklog reads click logs in the format of the Criteo data sets. Each line has a label (0 or 1), 13
// numbers and 26 categories, separated by tabs or commas.
package clicklog

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/psbench/psbench/plugins/data/internal/datafile"
	"github.com/psbench/psbench/plugins/data/internal/split"
	"github.com/psbench/psbench/sdk"
)

// Numbers and Categories count the columns of a line after its label.
const (
	Numbers    = 13
	Categories = 26
)

// Log is a click log in one or several files, read one after the other. Log keeps none of the content, so its
// memory use does not grow with the log.
type Log struct {
	Files       []datafile.File
	Separator   byte   // 0: a tab if the first line of a file has one, else a comma
	Compression string // compression, one of datafile.Forms
	LogNumbers  bool   // a number x becomes log(1+max(x, 0))
	IndexRows   bool   // a category is a row number in its table; otherwise its text is hashed
	Rows        []int  // rows of each category's table
	// MaxMalformed is the number of malformed lines that readers skip. One more is an error.
	MaxMalformed int
	Split        split.Split

	mu     sync.Mutex
	passed *pass // nil until a reader has read the whole log
}

// pass holds what a reader learned from reading the whole log once.
type pass struct {
	samples int64
	// malformed holds, for each malformed line, the number of samples before it, in rising order.
	malformed []int64
	last      error // the error of the last malformed line
	blank     bool  // the files have blank lines, which do not count as lines of the log
}

// Open returns a reader of the training samples.
func (l *Log) Open() *Reader { return l.open(l.Split) }

func (l *Log) open(s split.Split) *Reader {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Reader{log: l, split: s, passed: l.passed, lines: lines{block: make([]byte, maxLine+1)},
		parser: parser{log: l.LogNumbers, index: l.IndexRows}}
	for k, rows := range l.Rows {
		r.parser.rows[k] = uint64(rows) // #nosec G115 -- a table has rows
	}
	return r
}

// HeldOut reads the held-out samples. HeldOut returns nil if there are none.
func (l *Log) HeldOut() (*sdk.Samples, error) {
	r := l.open(split.Split{})
	var out sdk.Samples
	var one sdk.Batch
	var sources []source
	for n := int64(0); ; n++ {
		sample, more := l.Split.Held(n)
		if !more {
			break
		}
		err := r.Skip(int(sample - r.sample))
		if err == nil {
			err = r.Read(&one, 1)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			_ = r.Close()
			return nil, err
		}
		out.Features = append(out.Features, one.Features...)
		out.Append(one.Indices, one.Targets...)
		sources = append(sources, r.sources[0])
	}
	if out.Size() == 0 {
		return nil, r.Close()
	}
	out.Origin = func(sample, position int) string { return l.origin(sources[sample], position) }
	return &out, r.Close()
}

// Malformed returns how many malformed lines the readers skipped, and the error of the last one.
func (l *Log) Malformed() (lines int, last error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.passed == nil {
		return 0, nil
	}
	return len(l.passed.malformed), l.passed.last
}

// pass stores the results of the first reader that read the whole log.
func (l *Log) pass(p *pass) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.passed == nil {
		l.passed = p
	}
}

// origin describes the place of a sample's value, as sdk.Samples.Origin does. A label begins its line; for other
// columns, origin gives the column's name.
func (l *Log) origin(at source, position int) string {
	where := fmt.Sprintf("%s, line %d, ", l.Files[at.file].Shown(), at.line)
	switch {
	case position < 0:
		return where + "column 1"
	case position < Categories:
		return fmt.Sprintf("%scategory %d", where, position+1)
	default:
		return fmt.Sprintf("%snumber %d", where, position-Categories+1)
	}
}

// between counts the malformed lines between two samples.
func (p *pass) between(from, to int64) int64 {
	first, _ := slices.BinarySearch(p.malformed, from)
	last, _ := slices.BinarySearch(p.malformed, to)
	return int64(last - first)
}
