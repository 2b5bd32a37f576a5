package data

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/psbench/psbench/sdk"
)

// FileSettings are the settings of the file data.
type FileSettings struct {
	Path   string `json:"path" doc:"file of samples"`
	Format string `json:"format" doc:"jsonl, csv, or auto: by the file's name"`
	Header string `json:"header" doc:"whether the first row of a CSV file is a header: yes, no, or auto: if no field of it is an integer"`
}

// DefaultFile leaves the path to be given.
var DefaultFile = FileSettings{Format: "auto", Header: "auto"}

// parser reads samples from r to its end.
type parser func(r io.Reader, out *fileSamples) error

type file struct {
	path  string
	parse parser
}

// NewFile reads samples from a file in one of two formats:
//
//   - jsonl: each line is an object {"input": [3, 1, 4], "target": 2}; blank
//     lines are skipped;
//   - csv: each row is a sample, its last column the target and the columns
//     before it the indices. Rows may differ in length.
//
// Indices and targets are integers of 0 or more.
func NewFile(s FileSettings, _ sdk.DataEnv) (sdk.Data, error) {
	if s.Path == "" {
		return nil, errors.New("setting path is empty: give the path of a data file")
	}
	parse, err := s.parser()
	if err != nil {
		return nil, err
	}
	return &file{path: s.Path, parse: parse}, nil
}

func (s FileSettings) parser() (parser, error) {
	format := s.Format
	if format == "auto" {
		switch strings.ToLower(filepath.Ext(s.Path)) {
		case ".jsonl", ".ndjson":
			format = "jsonl"
		case ".csv":
			format = "csv"
		default:
			if _, err := (&file{path: s.Path}).open(); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("the name of data file %s does not tell its format: set format to jsonl or csv", s.Path)
		}
	}
	if s.Header != "auto" && s.Header != "yes" && s.Header != "no" {
		return nil, fmt.Errorf("setting header is %q but must be auto, yes or no", s.Header)
	}
	switch format {
	case "jsonl":
		return parseJSONLines, nil
	case "csv":
		return func(r io.Reader, out *fileSamples) error { return parseCSV(r, s.Header, out) }, nil
	default:
		return nil, fmt.Errorf("setting format is %q but must be auto, jsonl or csv", s.Format)
	}
}

// Load reads the whole file. Its errors name the line and the column, counted
// in bytes from 1.
func (f *file) Load() (*sdk.Samples, error) {
	opened, err := f.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	return f.read(opened)
}

func (f *file) open() (*os.File, error) {
	opened, err := os.Open(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("data file %s does not exist", f.path)
	case err != nil:
		return nil, fmt.Errorf("data file %s cannot be opened: %w", f.path, err)
	}
	if info, err := opened.Stat(); err == nil && info.IsDir() {
		_ = opened.Close()
		return nil, fmt.Errorf("data file %s is a folder: give the path of a file", f.path)
	}
	return opened, nil
}

func (f *file) read(r io.Reader) (*sdk.Samples, error) {
	out := &fileSamples{path: f.path}
	if err := f.parse(withoutByteOrderMark(r), out); err != nil {
		return nil, fmt.Errorf("data file %s, %w", f.path, err)
	}
	if len(out.lines) == 0 {
		return nil, fmt.Errorf("data file %s holds no samples", f.path)
	}
	return &sdk.Samples{Batch: out.batch, Origin: out.origin}, nil
}

func withoutByteOrderMark(r io.Reader) *bufio.Reader {
	buffered := bufio.NewReader(r)
	mark := []byte("\uFEFF")
	if start, _ := buffered.Peek(len(mark)); bytes.Equal(start, mark) {
		_, _ = buffered.Discard(len(mark)) // cannot fail: these bytes are in the buffer
	}
	return buffered
}

// fileSamples collects samples with the places that their numbers came from.
type fileSamples struct {
	path          string
	batch         sdk.Batch
	lines         []int // of each sample's target
	columns       []int32
	targetColumns []int32
}

// number is an integer of a sample and the column where it starts.
type number struct {
	value  int64
	column int
}

// add takes a sample that was read from a line.
func (f *fileSamples) add(line int, bag []number, target number) {
	indices := make([]int64, len(bag))
	for i, n := range bag {
		indices[i] = n.value
		f.columns = append(f.columns, int32(n.column)) // #nosec G115 -- no line has 2^31 bytes
	}
	f.batch.Append(indices, target.value)
	f.lines = append(f.lines, line)
	f.targetColumns = append(f.targetColumns, int32(target.column)) // #nosec G115 -- no line has 2^31 bytes
}

func (f *fileSamples) origin(sample, position int) string {
	column := f.targetColumns[sample]
	if position >= 0 {
		column = f.columns[f.batch.Offsets[sample]+int64(position)]
	}
	return fmt.Sprintf("%s, line %d, column %d", f.path, f.lines[sample], column)
}

// parseNumber reads an index or a target.
func parseNumber(text string) (int64, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is too large for a 64-bit integer", text)
	case err != nil:
		return 0, fmt.Errorf("%q is not an integer; indices and targets are integers of 0 or more", text)
	case v < 0:
		return 0, fmt.Errorf("%d is negative; indices and targets are integers of 0 or more", v)
	}
	return v, nil
}

// at says where in the file an error lies.
func at(line, column int, err error) error {
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}
