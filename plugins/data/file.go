package data

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/plugins/data/internal/datafile"
	"github.com/psbench/psbench/plugins/data/internal/split"
	"github.com/psbench/psbench/sdk"
)

// FileSettings are the settings of the file data.
type FileSettings struct {
	Path    string  `json:"path" doc:"file of samples"`
	Format  string  `json:"format" doc:"jsonl, csv, or auto: by the file's name"`
	Header  string  `json:"header" doc:"whether the first row of a CSV file is a header: yes, no, or auto: if no field of it is a number"`
	Columns string  `json:"columns" doc:"what the columns of a CSV file are beside the target: indices, or features, which are numbers"`
	Target  string  `json:"target" doc:"column of a CSV file that is the target: its name in the header or its number from 1; empty: the last"`
	HeldOut float64 `json:"held_out" doc:"share of the samples that is held out for evaluation, from 0 to 0.5: 0.1 is every tenth"`
}

// DefaultFile leaves the path to be given.
var DefaultFile = FileSettings{Format: "auto", Header: "auto", Columns: "indices"}

// parser reads samples from r to its end.
type parser func(r io.Reader, out *fileSamples) error

type file struct {
	path  string
	parse parser
	split split.Split
}

// NewFile reads samples from a file in one of two formats:
//
//   - jsonl: each line is an object {"input": [3, 1, 4], "target": 2}; blank
//     lines are skipped. Instead of indices, or beside them, a sample may have numbers,
//     "features": [0.5, -1], and beside indices several targets, "target": [2, 0];
//   - csv: each row is a sample, one column the target and the others its indices, then
//     rows may differ in length, or its features.
//
// Indices and targets are integers of 0 or more. All samples have equally many features
// and equally many targets. A share of the samples may be held out.
func NewFile(s FileSettings, _ sdk.DataEnv) (sdk.Data, error) {
	if s.Path == "" {
		return nil, errors.New("setting path is empty: give the path of a data file")
	}
	parse, err := s.parser()
	if err != nil {
		return nil, err
	}
	parts, err := split.New(s.HeldOut, math.MaxInt)
	if err != nil {
		return nil, err
	}
	return &file{path: s.Path, parse: parse, split: parts}, nil
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
			opened, err := datafile.OpenRaw(s.Path)
			if err != nil {
				return nil, err
			}
			_ = opened.Close()
			return nil, fmt.Errorf("the name of data file %s does not tell its format: set format to jsonl or csv", quote.Word(s.Path))
		}
	}
	if s.Header != "auto" && s.Header != "yes" && s.Header != "no" {
		return nil, fmt.Errorf("setting header is %s but must be auto, yes or no", quote.String(s.Header))
	}
	if s.Columns != "indices" && s.Columns != "features" {
		return nil, fmt.Errorf("setting columns is %s but must be indices or features", quote.String(s.Columns))
	}
	switch format {
	case "jsonl":
		if s.Columns != DefaultFile.Columns || s.Target != "" || s.Header != "auto" {
			return nil, fmt.Errorf("settings columns, target and header are for CSV files, but data file %s is read as JSON lines", quote.Word(s.Path))
		}
		return parseJSONLines, nil
	case "csv":
		return func(r io.Reader, out *fileSamples) error {
			rows := newCSV(r, s)
			return rows.parse(out)
		}, nil
	default:
		return nil, fmt.Errorf("setting format is %s but must be auto, jsonl or csv", quote.String(s.Format))
	}
}

// Load reads the whole file. Its errors name the line and the column, counted
// in bytes from 1.
func (f *file) Load() (*sdk.Samples, error) {
	opened, err := datafile.OpenRaw(f.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	return f.read(opened)
}

func (f *file) read(r io.Reader) (*sdk.Samples, error) {
	out := &fileSamples{path: f.path, split: f.split}
	if err := f.parse(withoutByteOrderMark(&boundedLines{r: r}), out); err != nil {
		return nil, fmt.Errorf("data file %s, %w", quote.Word(f.path), err)
	}
	if out.count == 0 {
		return nil, fmt.Errorf("data file %s holds no samples", quote.Word(f.path))
	}
	return out.samples(), nil
}

func withoutByteOrderMark(r io.Reader) *bufio.Reader {
	buffered := bufio.NewReader(r)
	mark := []byte("\uFEFF")
	if start, _ := buffered.Peek(len(mark)); bytes.Equal(start, mark) {
		_, _ = buffered.Discard(len(mark)) // cannot fail: these bytes are in the buffer
	}
	return buffered
}
